/* Steps into rings: each record is encoded by the event's layout and written as the kernel
 * would. */
#include "softperf/scenario.h"

#include "abi/perf_abi.h"
#include "base/cleanup.h"
#include "record/encode.h"

#include <errno.h>

int scenario_init(struct scenario *scenario, const struct perf_event_attr *attr, uint32_t cpus,
	size_t pages)
{
	*scenario = (struct scenario){0};
	if (cpus > SCENARIO_CPUS_MAX)
		return -EINVAL;
	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		struct ringwriter_options options = {.pages = pages, .id = cpu + 1};
		int rc = wick_layout_init(&options.layout, attr);

		if (attr->flags & ATTR_WATERMARK)
			options.watermark_bytes = attr->wakeup_events;
		else
			options.wakeup_events = attr->wakeup_events;
		if (rc == 0)
			rc = ringwriter_new(&options, &scenario->writers[cpu]);
		if (rc < 0) {
			scenario_done(scenario);
			return rc;
		}
		scenario->layouts[cpu] = options.layout;
		scenario->cpus = cpu + 1;
	}
	return 0;
}

void scenario_done(struct scenario *scenario)
{
	for (uint32_t cpu = 0; cpu < scenario->cpus; cpu++)
		ringwriter_free(scenario->writers[cpu]);
	*scenario = (struct scenario){0};
}

static int step_run(struct scenario *scenario, const struct scenario_step *step, uint8_t *buf)
{
	struct wick_record record = step->record;
	uint32_t times = step->repeat ? step->repeat : 1;

	if (step->cpu >= scenario->cpus)
		return -EINVAL;
	record.id.cpu = step->cpu;
	record.id.id = step->cpu + 1;
	for (uint32_t i = 0; i < times; i++, record.id.time += step->step_ns) {
		int size = record_encode(
			&scenario->layouts[step->cpu], &record, buf, PERF_RECORD_SIZE_MAX);

		if (size < 0)
			return size;
		if (ringwriter_write(scenario->writers[step->cpu], buf, (size_t)size) == 0)
			scenario->written++;
		else
			scenario->lost++;
	}
	return 0;
}

int scenario_run(struct scenario *scenario, const struct scenario_step *steps, size_t count)
{
	cleanup_free uint8_t *buf = malloc(PERF_RECORD_SIZE_MAX);
	int rc = buf ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && rc == 0; i++)
		rc = step_run(scenario, &steps[i], buf);
	return rc;
}
