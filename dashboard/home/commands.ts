import { npxCommand, quoteShell } from '../../protocol/client-package.ts'

/** Commands for a server; `test/pages.test.ts` runs them. */

export function command(baseUrl: string): string {
  return `${npxCommand(baseUrl)} publish ./folder`
}

export function installCommand(baseUrl: string): string {
  return `curl -fsS ${quoteShell(`${baseUrl}/install.sh`)} | sh`
}

export function archiveCall(baseUrl: string): string {
  return `tar -cz -C ./folder . | curl ${baseUrl}/api/v1/publish \\
  -H 'Content-Type: application/gzip' \\
  --data-binary @-`
}

export function createCall(baseUrl: string): string {
  return `printf '<h1>Hello</h1>' > index.html

curl ${baseUrl}/api/v1/publish \\
  -H 'Content-Type: application/json' \\
  -d '{ "files": [{
    "path": "index.html",
    "size": 14,
    "contentType": "text/html" }] }'`
}

export const UPLOAD_CALL = `curl -T index.html 'URL' \\
  -H 'Content-Type: text/html'`

export const FINALIZE_CALL = `curl FINALIZE_URL \\
  -H 'Content-Type: application/json' \\
  -d '{ "versionId": "VERSION_ID" }'`

interface AgentTextOptions {
  baseUrl: string
  /** Lifetime of a site without an owner, as text. */
  lifetime: string
}

/** Instructions for a coding agent, to paste. */
export function agentText({ baseUrl, lifetime }: AgentTextOptions): string {
  return `Put the finished site on the web with Slipway, which takes no account and no key. FOLDER below is the folder with its index.html; it must hold no secrets.

To publish it, one request:

tar -C FOLDER --exclude=.git --exclude=node_modules --exclude='.env*' -cz . | curl -sS --data-binary @- -H 'Content-Type: application/gzip' ${baseUrl}/api/v1/publish

The answer is JSON. Show me two things of it: siteUrl, where the site is live now, and claimUrl, which I open to keep it; unclaimed it is gone after ${lifetime}. Remember slug and claimToken.

To update it after a change, send the whole folder again, with the slug and the claim token in place of SLUG and CLAIM_TOKEN:

tar -C FOLDER --exclude=.git --exclude=node_modules --exclude='.env*' -cz . | curl -sS -X PUT --data-binary @- -H 'Content-Type: application/gzip' -H 'X-Slipway-Claim-Token: CLAIM_TOKEN' '${baseUrl}/api/v1/publish/SLUG'

When something is wrong, the answer has "error", a sentence that says what, and "code". After RATE_LIMITED wait as many seconds as the Retry-After header says. Once I have claimed the site, updates take my API key in place of the claim token: -H 'Authorization: Bearer KEY'.

Everything else that Slipway can do: ${baseUrl}/api/openapi.json
`
}
