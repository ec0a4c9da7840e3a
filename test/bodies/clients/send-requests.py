"""Sends the request of the JSON in argv[1] as often as it says, and prints the statuses as JSON."""
import json
import sys

import requests
import urllib3

urllib3.disable_warnings()

plan = json.loads(sys.argv[1])
body = bytes(plan["bytes"])
found = []
with requests.Session() as session:
    session.verify = False
    # REQUESTS_CA_BUNDLE would take precedence.
    session.trust_env = False
    for _ in range(plan["rounds"]):
        try:
            response = session.request(plan["method"], plan["url"], data=body, headers=plan["headers"])
            found.append(response.status_code)
        except Exception as error:
            found.append(str(error))
print(json.dumps(found))
