import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { MAX_REPORT_TEXT_LENGTH, REPORT_REASONS, type ReportRequest } from '../../protocol/api/reports.ts'
import type { Blocklist } from '../accounts/blocklist.ts'
import type { ErrorPages } from '../edge/respond/pages/error-pages.ts'
import { ApiError, STATUS, validationError } from '../lib/errors.ts'
import { type Html, html } from '../lib/html.ts'
import type { Reports } from '../operations/moderation/reports.ts'
import { sendPage } from '../web/pages.ts'
import { readBody } from './bodies.ts'
import { recognizeForeignPages } from './local-pages.ts'

interface ReportPageOptions {
  baseUrl: string
  reports: Reports
  blocklist: Blocklist
  pages: ErrorPages
  clientIp: (request: IncomingMessage) => string
}

const PATH = '/report'
const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Percent-encoding takes up to nine bytes for a character. */
const MAX_FORM_BYTES = 9 * (MAX_REPORT_TEXT_LENGTH + 2000 + 254) + 1000

const LABELS: Record<(typeof REPORT_REASONS)[number], string> = {
  phishing: 'It asks for passwords or payment details by deception',
  malware: 'It spreads malware',
  illegal: 'Its content is illegal',
  copyright: 'It violates my copyright',
  other: 'Something else',
}

/** The form for reports of visitors: a page without scripts. */
export async function reportPage(app: FastifyInstance, options: ReportPageOptions): Promise<void> {
  const { reports, blocklist, pages, clientIp } = options
  const isForeignPage = recognizeForeignPages(options.baseUrl)
  const send = (reply: FastifyReply, status: number, main: Html) =>
    sendPage(reply, pages.render({ status, language: 'en', title: 'Report a page', main }))
  const sendForm = (reply: FastifyReply, content: FormContent) =>
    send(reply, content.problem ? STATUS[content.problem.code] : 200, renderForm(content))
  app.addContentTypeParser(FORM_TYPE, readBody)
  app.get(PATH, async (request, reply) => {
    const { url } = request.query as Record<string, unknown>
    return sendForm(reply, { fields: { url: typeof url === 'string' ? url : '' } })
  })
  app.post(PATH, { bodyLimit: MAX_FORM_BYTES }, async (request, reply) => {
    const fields = Object.fromEntries(new URLSearchParams(String(request.body ?? '')))
    try {
      if (isForeignPage(request.headers))
        throw new ApiError('UNAUTHORIZED', 'Reports are accepted from this page only. Send it again.')
      const address = clientIp(request.raw)
      await blocklist.assertCaller(address)
      await reports.add(readReport(fields), address)
    } catch (problem) {
      if (!(problem instanceof ApiError) || STATUS[problem.code] >= 500) throw problem
      return sendForm(reply, { fields, problem })
    }
    return send(reply, 200, html`<h1>Report received</h1>\n<p>Thank you. The operator will look into it.</p>`)
  })
}

/** VALIDATION_ERROR for fields that the form does not send. */
function readReport({ url = '', reason = '', text = '', email = '' }: Record<string, string>): ReportRequest {
  const known = REPORT_REASONS.find((one) => one === reason)
  if (known === undefined) throw validationError([{ field: 'reason', message: 'must be chosen' }])
  if (text.length > MAX_REPORT_TEXT_LENGTH)
    throw validationError([
      { field: 'text', message: `must have at most ${MAX_REPORT_TEXT_LENGTH} characters` },
    ])
  if (email !== '' && !/^[^\s<>@,]{1,100}@[^\s<>@,]{1,150}$/.test(email))
    throw validationError([{ field: 'email', message: 'must be an email address' }])
  return { url, reason: known, text, ...(email !== '' && { email }) }
}

interface FormContent {
  fields: Record<string, string>
  problem?: ApiError
}

function renderForm({ fields, problem }: FormContent): Html {
  const { url = '', reason, text = '', email = '' } = fields
  const choices = REPORT_REASONS.map((one) => {
    const selected = one === reason ? html` selected` : undefined
    return html`<option value="${one}"${selected}>${LABELS[one]}</option>\n`
  })
  return html`<h1>Report a page</h1>
<p>The operator of this service receives your report.</p>
<form method="post" action="${PATH}">${problem && html`\n<p class="wrong" role="alert">${problem.message}</p>`}
<label for="url">Address of the page</label>
<input id="url" name="url" type="url" required maxlength="2000" value="${url}">
<label for="reason">What is wrong with it?</label>
<select id="reason" name="reason">
${choices}</select>
<label for="text">Details</label>
<textarea id="text" name="text" rows="5" maxlength="${MAX_REPORT_TEXT_LENGTH}">${text}</textarea>
<label for="email">Your email address, if the operator may ask you</label>
<input id="email" name="email" type="email" maxlength="250" value="${email}">
<button>Send report</button>
</form>`
}
