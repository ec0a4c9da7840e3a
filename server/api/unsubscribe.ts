import type { FastifyInstance, FastifyReply } from 'fastify'
import { NOTICE_KINDS } from '../../protocol/api/account.ts'
import { UNSUBSCRIBE_PATH, type UnsubscribeQuery } from '../accounts/unsubscribe.ts'
import { type Html, html } from '../lib/html.ts'
import type { Services } from '../services.ts'
import { sendPage } from '../web/pages.ts'
import { readBody } from './bodies.ts'

/** The body says only that a mail client sends the request (RFC 8058, 3.1). */
const MAX_BODY_BYTES = 1024

/** The address of a page is a credential. */
const HEADERS = ['Referrer-Policy', 'no-referrer', 'X-Robots-Tag', 'noindex']

interface Content {
  status?: number
  title: string
  content: Html
}

/** A GET only asks, because programs open the links of emails; mail clients and the button send a POST. */
export async function unsubscribe(
  app: FastifyInstance,
  { unsubscribeLinks: links, baseUrl, pages }: Pick<Services, 'unsubscribeLinks' | 'baseUrl' | 'pages'>,
): Promise<void> {
  app.addContentTypeParser('*', readBody)
  const send = (reply: FastifyReply, { status = 200, title, content }: Content) => {
    const main = html`<h1>${title}</h1>\n${content}`
    return sendPage(reply, pages.render({ status, language: 'en', title, main, headers: HEADERS }))
  }
  app.get(UNSUBSCRIBE_PATH, async ({ query }, reply) => {
    const kind = links.verify(query as UnsubscribeQuery)
    if (kind === undefined) return send(reply, INVALID)
    const content = html`<p>${NOTICE_KINDS[kind]}: turn off emails about this?</p>
<form method="post"><button>Turn off</button></form>`
    return send(reply, { title: 'Turn these emails off', content })
  })
  app.post(UNSUBSCRIBE_PATH, { bodyLimit: MAX_BODY_BYTES }, async ({ query }, reply) => {
    if (!(await links.follow(query as UnsubscribeQuery))) return send(reply, INVALID)
    const content = html`<p>You can turn them on again on the <a href="${baseUrl}/account">page of your account</a>.</p>`
    return send(reply, { title: 'These emails are turned off', content })
  })
}

const INVALID: Content = {
  status: 404,
  title: 'This link is not valid',
  content: html`<p>Emails are turned off on the page of your account.</p>`,
}
