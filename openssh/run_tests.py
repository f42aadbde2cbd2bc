"""run_tests.py DIR...: all tests below the folders, by pytest. Ends with
"N passed, N failed, N skipped" alone on a line; exits 1 if any failed, or
if there were none."""

import subprocess
import sys
import xml.etree.ElementTree

REPORT = "build/tests.xml"


def main():
    run = subprocess.run([sys.executable, "-B", "-m", "pytest", "-v", "-rs",
                          "-p", "no:cacheprovider", f"--junitxml={REPORT}"] +
                         sys.argv[1:])
    suite = xml.etree.ElementTree.parse(REPORT).getroot().find("testsuite")
    count = {name: int(suite.get(name))
             for name in ("tests", "failures", "errors", "skipped")}
    failed = count["failures"] + count["errors"]
    if run.returncode != 0 and failed == 0:
        failed = 1                      # pytest itself did not get through
    passed = count["tests"] - count["failures"] - count["errors"] - \
        count["skipped"]
    print(f"{passed} passed, {failed} failed, {count['skipped']} skipped",
          flush=True)
    return failed != 0 or passed == 0


sys.exit(main())
