// Drives real pages in a real browser and prints TAP: pages.mjs FOLDER, where tests/viewer/ has put
// the pages of tests/viewer_pages.c.
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { launch } from './browser.mjs'

const folder = resolve(process.argv[2])
const browser = await launch()
const tests = []
const test = (name, run) => tests.push({ name, run })

function check(condition, ...what) {
  if (!condition) throw new Error(what.map((w) => (typeof w === 'string' ? w : JSON.stringify(w))).join(' '))
}

function equal(got, want, what) {
  check(JSON.stringify(got) === JSON.stringify(want), `${what}: `, got, ' is not ', want)
}

// The page draws when it can: what is asked of it is asked again until it is so, or ten seconds are over.
async function becomes(get, want, what) {
  const end = Date.now() + 10000
  let got
  do {
    got = await get().catch((error) => String(error))
    if (JSON.stringify(got) === JSON.stringify(want)) return
    await new Promise((done) => setTimeout(done, 20))
  } while (Date.now() < end)
  equal(got, want, what)
}

// The same for what has no single right value: `judge` says whether the text of `selector` will do.
async function says(page, selector, judge, what) {
  let got = ''
  await becomes(async () => judge((got = await text(page, selector))), true, what).catch(() => check(false, what, got))
}

// Every page must be silent: no console message, no error, no request but for the file itself.
async function open(name, fragment = '', size = { width: 1280, height: 800 }) {
  const page = await browser.context.newPage()
  page.complaints = []
  page.on('console', (message) => page.complaints.push(`console: ${message.text()}`))
  page.on('pageerror', (error) => page.complaints.push(`error: ${error.message}`))
  page.on('dialog', (dialog) => page.complaints.push(`dialog: ${dialog.message()}`))
  page.on('request', (request) => {
    if (!/^(file:.*\.html|data:|blob:)/.test(request.url())) page.complaints.push(`request: ${request.url()}`)
  })
  await page.setViewportSize(size)
  await page.goto(pathToFileURL(join(folder, name + '.html')).href + fragment)
  await page.waitForSelector('main, [role=alert]')
  return page
}

async function close(page) {
  equal(page.complaints, [], 'complaints')
  await page.close()
}

const rows = (page, label = 'Functions') =>
  page.$$eval(`table[aria-label="${label}"] tbody tr`, (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent.trim())))
const text = (page, selector) => page.$eval(selector, (element) => element.textContent)
const fragment = (page) => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).toString())
const FLAME = '.flame canvas'

// The middle of a box in the picture: level and share of the width.
async function spot(page, level, share) {
  const box = await (await page.$(FLAME)).boundingBox()
  return [box.x + box.width * share, box.y + level * 20 + 10]
}

test('a page says how good the recording is, and shows it', async () => {
  const page = await open('small')
  await says(page, '.quality summary', (words) => words.includes('with care'), 'the verdict')
  await says(page, '.quality dl', (words) => words.includes('35 % in <b>libfoo</b>: stripped'), 'the sentences')
  await becomes(async () => (await rows(page)).map((r) => [r[0], r[1], r[2], r[3]]), [
    ['45.0 %', '45.0 %', 'slow', 'server'], ['40.0 %', '40.0 %', 'ksys_write', '[kernel.kallsyms]'],
    ['15.0 %', '15.0 %', 'memcpy', 'libc.so.6'], ['0.0 %', '100.0 %', 'main', 'server'],
    ['0.0 %', '60.0 %', 'parse', 'server'], ['0.0 %', '40.0 %', 'save', 'server'],
  ], 'functions')
  await close(page)
})

test('hover, zoom, breadcrumb and Escape', async () => {
  const page = await open('small')
  await page.mouse.move(...(await spot(page, 2, 0.3)))
  await page.waitForSelector('.tip')
  const tip = await text(page, '.tip')
  for (const word of ['parse', '60.0 %', '600 ms', '/usr/bin/server', '/src/server.c:12']) check(tip.includes(word), tip, 'has no', word)
  await page.mouse.click(...(await spot(page, 2, 0.3)))
  await becomes(() => page.$$eval('.crumbs button', (all) => all.map((b) => b.textContent)), ['everything', 'main', 'parse'], 'breadcrumb')
  await page.mouse.move(...(await spot(page, 3, 0.3)))
  await says(page, '.tip', (words) => words.includes('75.0 % of view, 45.0 % of all'), 'shares of the view:')
  await page.keyboard.press('Escape')
  await becomes(() => page.$$eval('.crumbs button', (all) => all.length), 1, 'crumbs after Escape')
  await close(page)
})

test('search: words, a regular expression, a wrong one', async () => {
  const page = await open('small')
  await page.keyboard.press('/')
  await page.keyboard.type('SLO')
  await page.waitForFunction(() => document.querySelector('output').textContent === '45.0 % matched')
  await becomes(() => page.$$eval('tr.found', (all) => all.length), 1, 'marked rows')
  await page.fill('.search input', '/^(memcpy|slow)$/')
  await page.waitForFunction(() => document.querySelector('output').textContent === '60.0 % matched')
  await page.fill('.search input', '/(/')
  await page.waitForFunction(() => document.querySelector('output').textContent.includes('not a regular'))
  await close(page)
})

test('a time range by dragging; everything follows', async () => {
  const page = await open('small')
  const box = await (await page.$('.timeline canvas')).boundingBox()
  const x = (share) => box.x + 150 + (box.width - 150) * share
  await page.mouse.move(x(0.7), box.y + 10)
  await page.mouse.down()
  await page.mouse.move(x(0.8), box.y + 10)
  await page.mouse.move(x(0.9), box.y + 10)
  await page.mouse.up()
  await becomes(async () => (await rows(page)).map((r) => r[2]).slice(0, 1), ['ksys_write'], 'the heaviest')
  await becomes(async () => (await rows(page)).length, 3, 'functions left')
  const samples = parseInt(await text(page, '.sum'), 10)
  check(samples > 180 && samples < 220, samples, 'samples in a fifth of 1,000')
  await page.click('.timeline h2 button')
  await becomes(async () => (await rows(page)).length, 6, 'functions of all')
  await close(page)
})

test('a thread by clicking its name', async () => {
  const page = await open('small')
  const box = await (await page.$('.timeline canvas')).boundingBox()
  await page.mouse.click(box.x + 30, box.y + 2 * 22 + 11)
  await says(page, '.sum', (words) => words.startsWith('400 samples'), 'of the writer:')
  await becomes(async () => (await rows(page)).length, 3, 'functions of the writer')
  await close(page)
})

test('bottom-up, callers and callees, call tree, modules', async () => {
  const page = await open('small')
  const before = await rows(page)
  await page.click('text=bottom-up')
  await becomes(async () => (await rows(page)).map((r) => r[2]).sort(), before.map((r) => r[2]).sort(), 'the same functions')
  await page.click('table[aria-label=Functions] tr:has-text("parse")')
  await page.click('role=tab[name="Callers and callees"]')
  await becomes(async () => (await rows(page, 'Callers')).map((r) => r.slice(0, 2)), [['60.0 %', 'main']], 'callers')
  await becomes(async () => (await rows(page, 'Callees')).map((r) => r.slice(0, 2)), [['45.0 %', 'slow'], ['15.0 %', 'memcpy']], 'callees')
  await page.click('text=bottom-up')
  await page.click('role=tab[name="Call tree"]')
  await becomes(async () => (await rows(page, 'Call tree')).map((r) => r[2].replace(/^[▾▸]/, '')), ['everything', 'main', 'parse', 'slow', 'memcpy', 'save'], 'the heavy path is open')
  await page.click('role=tab[name="Modules"]')
  await becomes(async () => (await rows(page, 'Modules')).map((r) => [r[0], r[2], r[3]]), [['45.0 %', 'server', 'program'], ['40.0 %', '[kernel.kallsyms]', 'kernel'], ['15.0 %', 'libc.so.6', 'library']], 'modules')
  await close(page)
})

test('filters and focus', async () => {
  const page = await open('small')
  await page.click('.filters summary')
  await page.fill('.filters label:nth-of-type(2) input', 'slow')
  await page.waitForFunction(() => document.querySelector('.sum').textContent.includes('550 ms'))
  await page.fill('.filters label:nth-of-type(2) input', '')
  await page.click('table[aria-label=Functions] tr:has-text("save")')
  await page.click('.filters button')
  await page.waitForFunction(() => document.querySelector('.sum').textContent.includes('400 ms'))
  await close(page)
})

test('the keyboard alone', async () => {
  const page = await open('small')
  await page.focus(FLAME)
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight']) await page.keyboard.press(key)
  await page.waitForFunction(() => document.querySelector('.flame .sr').textContent.startsWith('save: '))
  await page.keyboard.press('Enter')
  await becomes(() => page.$$eval('.crumbs button', (all) => all.map((b) => b.textContent)), ['everything', 'main', 'save'], 'zoomed')
  await page.keyboard.press('Escape')
  await page.focus('table[aria-label=Functions] tbody tr')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await becomes(() => page.$eval('tr[aria-selected=true]', (row) => row.cells[2].textContent), 'ksys_write', 'chosen')
  await close(page)
})

test('a link shows the same picture', async () => {
  const first = await open('small')
  await first.mouse.click(...(await spot(first, 2, 0.3)))
  await first.fill('.search input', 'memcpy')
  await first.click('text=root below')
  await first.click('role=tab[name="Modules"]')
  const missing = async () => {
    const given = new URLSearchParams(await fragment(first))
    return ['query', 'up', 'tab', 'zoom'].filter((key) => !given.has(key))
  }
  await becomes(missing, [], 'missing in the fragment')
  const link = await fragment(first)
  const second = await open('small', '#' + link)
  await becomes(() => fragment(second), link, 'the fragment')
  await says(second, 'output', (words) => words === '15.0 % matched', 'the search')
  await becomes(async () => (await rows(second, 'Modules')).length, 3, 'the table')
  await close(first)
  await close(second)
})

test('SVG and PNG are saved', async () => {
  const page = await open('small')
  for (const [button, start] of [['SVG', '<svg'], ['PNG', '\x89PNG']]) {
    const [download] = await Promise.all([page.waitForEvent('download'), page.click(`text="${button}"`)])
    const bytes = readFileSync(await download.path(), 'latin1')
    check(bytes.startsWith(start), button, 'begins with', bytes.slice(0, 10))
    if (button === 'SVG') for (const name of ['ksys_write', 'parse']) check(bytes.includes(`>${name}</text>`), 'no', name)
  }
  await close(page)
})

test('two recordings are compared', async () => {
  const page = await open('compared')
  await becomes(async () => (await rows(page)).slice(0, 2).map((r) => r.slice(0, 4)), [['−30.0 %', '45.0 %', '15.0 %', 'slow'], ['+30.0 %', '15.0 %', '45.0 %', 'memcpy']], 'changes')
  await page.mouse.move(...(await spot(page, 3, 0.05)))
  await page.waitForSelector('.tip')
  await says(page, '.tip', (words) => words.includes('45.0 % → 15.0 % (−30.0 %)'), 'the change:')
  const [less, more] = await page.$eval(FLAME, (canvas) => {
    const y = Math.round((3 * 20 + 3) * (canvas.height / canvas.clientHeight))
    const { data } = canvas.getContext('2d').getImageData(0, y, canvas.width, 1)
    return [0.2, 0.5].map((share) => [...data.subarray(Math.round(canvas.width * share) * 4).subarray(0, 3)])
  })
  check(less[2] > less[0] + 50, 'less is blue:', less)
  check(more[0] > more[2] + 50, 'more is red:', more)
  await close(page)
})

for (const [name, samples] of [['empty', '0'], ['one', '1'], ['deep', '20'], ['threads', '10,000']]) {
  test(`a recording that is ${name}`, async () => {
    const page = await open(name)
    await says(page, '.sum', (words) => words.startsWith(samples + ' samples'), 'samples:')
    await becomes(async () => (await page.$$('.nothing')).length, name === 'empty' ? 1 : 0, 'the word that nothing was sampled')
    if (name === 'deep') {
      await page.click('text=fold recursion')
      await page.click('text=bottom-up')
      await page.click('text=root below')
      await becomes(async () => (await rows(page)).length, 50, 'functions')
    }
    if (name === 'threads') await says(page, '.by-keys', (words) => words.includes('worker-0'), 'threads by name')
    await close(page)
  })
}

test('names cannot script the page', async () => {
  const page = await open('hostile')
  check(!(await page.title()).includes('owned'), 'the title')
  await becomes(() => page.$$eval('main img, main script, main b.x', (all) => all.length), 0, 'elements out of names')
  await becomes(async () => (await rows(page)).length, 2, 'functions')
  check((await rows(page))[0][2].length < 400, 'names are cut')
  for (const tab of ['Call tree', 'Callers and callees', 'Modules', 'Functions']) {
    await page.click(`role=tab[name="${tab}"]`)
    await page.keyboard.press('Tab')
  }
  await page.mouse.click(...(await spot(page, 1, 0.2)))
  check(!(await page.title()).includes('owned'), 'the title')
  await says(page, 'main', (words) => words.includes('\\u202e'), 'the mark that turns text around is shown')
  await close(page)
})

test('a page that is cut says that it is damaged', async () => {
  const whole = readFileSync(join(folder, 'small.html'))
  const data = whole.indexOf('id="wick-data-0"')
  for (const [what, bytes] of [
    ['script', whole.subarray(0, data / 2)],
    ['data', whole.subarray(0, data + 400)],
    ['end', whole.subarray(0, whole.indexOf('<i id="wick-end"'))],
    ['hole', Buffer.concat([whole.subarray(0, data + 400), whole.subarray(data + 500)])],
  ]) {
    writeFileSync(join(folder, 'cut.html'), bytes)
    const page = await browser.context.newPage()
    await page.goto(pathToFileURL(join(folder, 'cut.html')).href)
    await page.waitForFunction(() => document.querySelector('.alone'))
    await says(page, 'body', (words) => words.includes('damaged'), what)
    await page.close()
  }
})

test('a million samples: few boxes a frame', async () => {
  const page = await open('million')
  await says(page, '.sum', (words) => words.startsWith('1,000,000 samples'), 'samples:')
  const work = () => page.$eval(FLAME, (canvas) => [+canvas.dataset.boxes, +canvas.dataset.visited])
  await becomes(async () => (await work())[0] > 100, true, 'boxes are drawn')
  let [boxes, visited] = await work()
  check(boxes > 100 && boxes < 10000 && visited < 10000, boxes, 'boxes,', visited, 'nodes visited')
  await page.mouse.move(...(await spot(page, 3, 0.4)))
  await page.keyboard.down('Control')
  for (let i = 0; i < 10; i++) {
    await page.mouse.wheel(0, -50)
    ;[boxes, visited] = await work()
    check(boxes < 10000 && visited < 10000, boxes, 'boxes,', visited, 'nodes visited')
  }
  await page.keyboard.up('Control')
  await close(page)
})

for (const theme of ['light', 'dark']) {
  test(`nothing sticks out of a narrow window, ${theme}`, async () => {
    for (const name of ['small', 'compared', 'hostile']) {
      const page = await open(name, '#theme=' + theme, { width: 400, height: 800 })
      const wide = await page.evaluate(() => document.documentElement.scrollWidth)
      check(wide <= 400, name, 'is', wide, 'wide')
      await close(page)
    }
  })
}

test('the code of a function: lines and instructions, folded, linked, by keyboard', async () => {
  const page = await open('small')
  await page.click('table[aria-label=Functions] tr:has-text("slow")')
  await page.click('role=tab[name="Source and code"]')
  await becomes(async () => (await rows(page, 'Source lines')).map((r) => r.slice(0, 4)), [
    ['', '', '10', 'static int slow(void)/src/server.c'], ['66.7 %', '300', '12', 'return 1 < 2 && "</script>";'], ['33.3 %', '150', '7', 'gone.h'],
  ], 'lines')
  await becomes(async () => (await rows(page, 'Instructions')).filter((r) => r[0].endsWith('%')).map((r) => r.slice(0, 3)), [['66.7 %', '300', '401190'], ['33.3 %', '150', '401194']], 'hot instructions')
  await says(page, '.tables', (words) => words.includes('its code is made up') && words.includes('1 source file was not found') && words.includes('gone.h'), 'notes:')
  check((await rows(page, 'Instructions')).length < 30, 'cold instructions are not folded')
  await page.click('tr.folded')
  await becomes(async () => (await rows(page, 'Instructions')).length > 100, true, 'unfolded')
  await page.click('table[aria-label="Source lines"] tr:has-text("return 1")')
  await becomes(() => page.$$eval('table[aria-label=Instructions] tr[aria-selected=true]', (all) => all.map((row) => row.dataset.i)), ['100'], 'marked instructions')
  await page.focus('table[aria-label=Instructions] tr[data-i="100"]')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await becomes(() => page.$$eval('table[aria-label="Source lines"] tr[aria-selected=true]', (all) => all.map((row) => row.dataset.i)), ['2'], 'marked line')
  await says(page, '.tables', (words) => !words.includes('filters do not apply'), 'no filter:')
  await page.evaluate(() => (location.hash += '&from=700000&to=900000'))
  await says(page, '.tables', (words) => words.includes('filters do not apply here'), 'a filter:')
  await page.selectOption('.chooser select', { index: 0 })
  await page.click('role=tab[name="Functions"]')
  await page.click('table[aria-label=Functions] tr:has-text("ksys_write")')
  await page.click('role=tab[name="Source and code"]')
  await says(page, '.tables', (words) => words.includes('ksys_write is not among the 1 functions'), 'without code:')
  await close(page)
  const none = await open('compared', '#tab=code')
  await says(none, '.tables', (words) => words.includes('Two recordings are compared'), 'two:')
  await close(none)
})

test('what is missing stands on the timeline, and in words', async () => {
  const page = await open('small')
  await says(page, '.timeline h2', (words) => words.includes('samples were lost once') && words.includes('held back by the kernel once, 50.0 ms'), 'the heading:')
  check((await page.getAttribute('.timeline canvas', 'aria-label')).includes('red: samples were lost once'), 'the picture does not say it')
  await page.click('.by-keys summary')
  const told = await page.$$eval('ul[aria-label="Where samples are missing"] li', (all) => all.map((item) => item.textContent))
  check(told.length === 2 && /^lost at .* for 100 ms$/.test(told[0]) && /^held back at .* for 50\.0 ms while writer 102 ran$/.test(told[1]), told)
  await close(page)
})

for (const theme of ['light', 'dark']) {
  test(`code fits into a narrow window, ${theme}`, async () => {
    const page = await open('small', '#tab=code&theme=' + theme, { width: 400, height: 800 })
    await page.waitForSelector('table[aria-label=Instructions]')
    const wide = await page.evaluate(() => document.documentElement.scrollWidth)
    check(wide <= 400, wide, 'wide')
    await close(page)
  })
}

test('two recordings of different events: said first', async () => {
  const page = await open('events')
  await says(page, '[role=alert]', (words) => words.includes('Before is cpu-clock, after is cycles'), 'the alarm:')
  await close(page)
  const same = await open('compared')
  check(!(await same.$('[role=alert]')), 'an alarm about nothing')
  await close(same)
})

console.log(`1..${tests.length}`)
let failed = 0
for (const [i, { name, run }] of tests.entries()) {
  try {
    await run()
    console.log(`ok ${i + 1} - ${name}`)
  } catch (error) {
    failed++
    console.log(String(error.stack))
    console.log(`not ok ${i + 1} - ${name}`)
  }
}
await browser.close()
process.exit(failed ? 1 : 0)
