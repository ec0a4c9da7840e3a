import type { FastifyInstance, FastifyReply } from 'fastify'
import { NOTICE_KINDS } from '../../protocol/api/account.ts'
import { UNSUBSCRIBE_PATH, type UnsubscribeLinks, type UnsubscribeQuery } from '../accounts/unsubscribe.ts'
import { type Html, html } from '../lib/html.ts'
import { readBody } from './bodies.ts'

/** The body says only that a mail client sends the request (RFC 8058, 3.1). */
const MAX_BODY_BYTES = 1024

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'no-store',
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'X-Robots-Tag': 'noindex',
}

/**
 * The links of emails that turn their kind off. A GET only asks, because programs open the links of emails; mail clients
 * and the button send a POST.
 */
export async function unsubscribe(
  app: FastifyInstance,
  { unsubscribeLinks: links, baseUrl }: { unsubscribeLinks: UnsubscribeLinks; baseUrl: string },
): Promise<void> {
  app.addContentTypeParser('*', readBody)
  const invalid = (reply: FastifyReply) =>
    send(
      reply.code(404),
      'This link is not valid',
      html`<p>Emails are turned off on the page of your account.</p>`,
    )
  app.get(UNSUBSCRIBE_PATH, async ({ query }, reply) => {
    const kind = links.verify(query as UnsubscribeQuery)
    if (kind === undefined) return invalid(reply)
    const form = html`<p>${NOTICE_KINDS[kind]}: turn off emails about this?</p>
<form method="post"><button>Turn off</button></form>`
    return send(reply, 'Turn these emails off', form)
  })
  app.post(UNSUBSCRIBE_PATH, { bodyLimit: MAX_BODY_BYTES }, async ({ query }, reply) => {
    if (!(await links.follow(query as UnsubscribeQuery))) return invalid(reply)
    const back = html`<p>You can turn them on again on the <a href="${baseUrl}/account">page of your account</a>.</p>`
    return send(reply, 'These emails are turned off', back)
  })
}

function send(reply: FastifyReply, title: string, content: Html): FastifyReply {
  const page = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 34em; margin: 15vh auto; padding: 0 24px }
button { font: inherit; padding: 8px 16px }
</style>
<h1>${title}</h1>
${content}
`
  return reply.headers(HEADERS).send(page.text)
}
