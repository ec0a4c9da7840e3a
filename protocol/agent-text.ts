import { npxCommand } from './client-package.ts'

interface AgentTextOptions {
  /** The name of the service. */
  name: string
  baseUrl: string
  /** Lifetime of a site without an owner, as text. */
  lifetime: string
  /** Whether sites can be published without an account. */
  isAnonymous: boolean
}

/** Instructions for a coding agent: the dashboard shows them, and the server has them in `/llms.txt` and `/skill.md`. */
export function agentText({ name, baseUrl, lifetime, isAnonymous }: AgentTextOptions): string {
  const tar = "tar -C FOLDER --exclude=.git --exclude=node_modules --exclude='.env*' -cz ."
  const bearer = 'Authorization: Bearer KEY'
  const login = `With Node.js, run ${npxCommand(baseUrl)} login and show the user the link and the code that it prints: it waits until the user allows it, and later commands use the key`
  const needed = isAnonymous
    ? 'No account and no API key are needed.'
    : `KEY is the API key of the user. ${login}; with --print-key --key-name agent, it prints it.`
  const key = isAnonymous ? '' : ` -H '${bearer}'`
  const token = isAnonymous ? "-H 'X-Slipway-Claim-Token: CLAIM_TOKEN'" : key.trim()
  const keep = isAnonymous
    ? `, and claimUrl, the link that keeps it: an unclaimed site expires after ${lifetime}. Remember slug and claimToken.`
    : '. Remember slug.'
  const claimed = isAnonymous
    ? ` When the user has claimed the site, updates need the user's API key in place of the claim token: -H '${bearer}'. ${login}.`
    : ''
  return `Publish the finished site with ${name} at ${baseUrl}. ${needed} FOLDER is the folder that contains index.html. It must not contain secrets.

Publish the folder with one request:

${tar} | curl -sS --data-binary @- -H 'Content-Type: application/gzip'${key} ${baseUrl}/api/v1/publish

Without a shell, send the files as JSON, text in content and binary files in contentBase64, at most 2 MB in all:

POST ${baseUrl}/api/v1/publish
Content-Type: application/json${isAnonymous ? '' : `\n${bearer}`}

{"files": [{"path": "index.html", "content": "<h1>Hello</h1>"}]}

The response is JSON. Show the user siteUrl, the URL of the live site${keep}

To update the site, send the whole folder again, with its slug${isAnonymous ? ' and claim token in place of SLUG and CLAIM_TOKEN' : ' in place of SLUG'}:

${tar} | curl -sS -X PUT --data-binary @- -H 'Content-Type: application/gzip' ${token} '${baseUrl}/api/v1/publish/SLUG'

To change single files, send PUT with JSON files${isAnonymous ? ', "merge": true and "claimToken"' : ' and "merge": true'}.

An error response has "error" (the problem), "code" and "hint" (what to do next). After RATE_LIMITED, wait the number of seconds in the Retry-After header.${claimed}

Everything else: ${baseUrl}/docs for people, ${baseUrl}/api/openapi.json for programs.
`
}
