import { npxCommand, quoteShell } from '../../protocol/client-package.ts'

/** Commands for a server; `test/dashboard/pages.test.ts` runs them. */

export function command(baseUrl: string): string {
  return `${npxCommand(baseUrl)} publish ./folder`
}

export function claimCommand(baseUrl: string): string {
  return `${npxCommand(baseUrl)} claim 'CLAIM LINK'`
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
