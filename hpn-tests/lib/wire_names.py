"""Names of our own on the wire, as openssh/bdp-names.h has them."""

import os
import re

HEADER = os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(
        os.path.abspath(__file__)))), "openssh", "bdp-names.h")


def wire_name(macro):
    with open(HEADER) as f:
        text = f.read()
    domain = re.search(r'define BDP_DOMAIN\s+"(.*)"', text)[1]
    return re.search(rf'define {macro}\s+"(.*@)" BDP_DOMAIN',
                     text)[1] + domain
