import { ERROR_CODES } from '../../protocol/api/errors.schema.ts'
import type { DocsSection } from '../../protocol/docs-section.ts'
import { html } from '../../server/lib/html.ts'
import { documentPage } from './contents.ts'

/** The page of all error codes. The `docs` of an error links to its code. */
export function errorsContent(): string {
  const rows = listCodes().map(
    ({ code, status, text }) =>
      html`<div id="${code}"><dt><code>${code}</code> <span>${status}</span></dt><dd>${text}</dd></div>`,
  )
  return documentPage(
    'errors',
    html`<h1>Errors</h1>
        <p>
          Every error is JSON: <code>error</code> is a sentence for people that names the field, the file and the limit.
          <code>code</code> identifies the error and never changes. <code>status</code> is the HTTP status,
          <code>hint</code> says what to do next, <code>docs</code> links to the code in this list, and
          <code>details</code> names what is wrong, where possible: for a manifest with several errors, all of them.
        </p>
        <pre><code>{ "error": "…", "code": "VALIDATION_ERROR", "status": 400, "hint": "…", "details": [ … ] }</code></pre>
        <dl class="fields">${rows}</dl>
        <p class="quiet"><a href="/docs/errors.md">This page as Markdown</a></p>`,
  )
}

/** The same as Markdown. */
export function errorsSource(): string {
  const rows = listCodes().map(({ code, status, text }) => `| \`${code}\` | ${status} | ${text} |\n`)
  return `# Errors

Every error is JSON: \`error\` is a sentence, \`code\` identifies the error and never changes, \`status\` is the HTTP status,
\`hint\` says what to do next, and \`details\` names what is wrong, where possible.

| code | status | meaning |
|---|---|---|
${rows.join('')}`
}

export function errorEntries(): DocsSection[] {
  return listCodes().map(({ code, text }) => ({ page: 'errors', id: code, title: code, text }))
}

function listCodes() {
  return Object.entries(ERROR_CODES).map(([code, { status, meaning, hint }]) => ({
    code,
    status,
    text: `${meaning} ${hint}`,
  }))
}
