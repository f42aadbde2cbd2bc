"""Names of our own on the wire, as the headers of openssh/ have them."""

import glob
import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))


def wire_name(macro):
    text = ""
    for path in sorted(glob.glob(f"{TOP}/openssh/*/*.h")):
        with open(path) as f:
            text += f.read()
    domain = re.search(r'define BDP_DOMAIN\s+"(.*)"', text)[1]
    return re.search(rf'define {macro}\s+"(.*@)" BDP_DOMAIN',
                     text)[1] + domain
