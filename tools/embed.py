#!/usr/bin/env python3
"""Makes a C file out of any file: embed.py INPUT OUTPUT NAME defines NAME[] and NAME_bytes."""
import sys


def main(source, target, name):
    with open(source, "rb") as file:
        data = file.read()
    with open(target, "w") as out:
        out.write('#include "formats/viewer_page.h"\n\nconst unsigned char %s[] = {\n' % name)
        for at in range(0, len(data), 32):
            out.write(",".join(map(str, data[at:at + 32])) + ",\n")
        out.write("0};\nconst size_t %s_bytes = %d;\n" % (name, len(data)))


main(*sys.argv[1:])
