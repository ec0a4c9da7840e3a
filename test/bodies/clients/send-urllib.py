"""Sends the request of the JSON in argv[1] as often as it says, and prints the statuses as JSON."""
import json
import ssl
import sys
import urllib.error
import urllib.request

plan = json.loads(sys.argv[1])
context = ssl._create_unverified_context()
body = bytes(plan["bytes"])
found = []
for _ in range(plan["rounds"]):
    request = urllib.request.Request(plan["url"], data=body, headers=plan["headers"], method=plan["method"])
    try:
        with urllib.request.urlopen(request, context=context) as response:
            response.read()
            found.append(response.status)
    except urllib.error.HTTPError as error:
        error.read()
        found.append(error.code)
    except Exception as error:
        found.append(str(error))
print(json.dumps(found))
