import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { FieldError } from '../../protocol/api/errors.schema.ts'
import type { ReportRequest } from '../../protocol/api/reports.schema.ts'
import { MAX_REPORT_TEXT_LENGTH, REPORT_REASONS } from '../../protocol/api/reports.ts'
import { negotiateLanguage, TEXTS } from '../edge/respond/pages/language.ts'
import type { VisitorTexts } from '../edge/respond/pages/languages/english.ts'
import { ApiError, invalidField } from '../lib/errors.ts'
import { type Html, html } from '../lib/html.ts'
import { readParameters } from '../lib/parameters.ts'
import type { Services } from '../services.ts'
import { sendPage } from '../web/pages.ts'
import { readOtherPage, recognizeForeignPages } from './auth.ts'
import { readBody } from './bodies.ts'
import { RETRY_AFTER_SECONDS } from './errors.ts'

interface ReportPageOptions extends Pick<Services, 'baseUrl' | 'reports' | 'blocklist' | 'pages'> {
  clientIp: (request: IncomingMessage) => string
}

const PATH = '/report'
const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Percent-encoding takes up to nine bytes for a character. */
const MAX_FORM_BYTES = 9 * (MAX_REPORT_TEXT_LENGTH + 2000 + 254) + 1000

/** Without scripts, in the language of the visitor. */
export async function reportPage(app: FastifyInstance, options: ReportPageOptions): Promise<void> {
  const { reports, blocklist, pages, clientIp } = options
  const isForeignPage = recognizeForeignPages(options.baseUrl)
  const send = (reply: FastifyReply, status: number, render: (texts: VisitorTexts) => Html) => {
    const language = negotiateLanguage(reply.request.headers['accept-language'] ?? '')
    const texts = TEXTS[language]
    return sendPage(
      reply,
      pages.render({ status, language, title: texts.report.title, main: render(texts), isReportForm: true }),
    )
  }
  const sendForm = (reply: FastifyReply, content: FormContent) => {
    const { status = 200, retryAfterSeconds = RETRY_AFTER_SECONDS } = content.problem ?? {}
    if (status === 429) reply.header('Retry-After', retryAfterSeconds)
    return send(reply, status, ({ report }) => renderForm(report, content))
  }
  app.addContentTypeParser(FORM_TYPE, readBody)
  app.get(PATH, async (request, reply) => {
    const { url } = request.query as Record<string, unknown>
    return sendForm(reply, { fields: { url: typeof url === 'string' ? url : '' } })
  })
  app.post(PATH, { bodyLimit: MAX_FORM_BYTES }, async (request, reply) => {
    const fields = Object.fromEntries(readParameters(String(request.body ?? '')))
    try {
      if (isForeignPage(request.headers))
        throw new ApiError('UNAUTHORIZED', 'Reports are accepted from this page only. Send it again.')
      const address = clientIp(request.raw)
      await blocklist.assertCaller(address)
      await reports.add(readReport(fields), { address, ofOtherPage: readOtherPage(request) })
    } catch (problem) {
      if (!(problem instanceof ApiError) || problem.status >= 500) throw problem
      return sendForm(reply, { fields, problem })
    }
    return send(reply, 200, ({ reportReceived: [title, text] }) => html`<h1>${title}</h1>\n<p>${text}</p>`)
  })
}

function readReport({ url = '', reason = '', text = '', email = '' }: Record<string, string>): ReportRequest {
  const known = REPORT_REASONS.find((one) => one === reason)
  if (known === undefined) throw invalidField('reason', 'must be chosen')
  if (text.length > MAX_REPORT_TEXT_LENGTH)
    throw invalidField('text', `must have at most ${MAX_REPORT_TEXT_LENGTH} characters`)
  if (email !== '' && !/^[^\s<>@,]{1,100}@[^\s<>@,]{1,150}$/.test(email))
    throw invalidField('email', 'must be an email address')
  return { url, reason: known, text, ...(email !== '' && { email }) }
}

interface FormContent {
  fields: Record<string, string>
  problem?: ApiError
}

function renderForm(texts: VisitorTexts['report'], { fields, problem }: FormContent): Html {
  const { url = '', reason, text = '', email = '' } = fields
  const choices = REPORT_REASONS.map((one) => {
    const selected = one === reason ? html` selected` : undefined
    return html`<option value="${one}"${selected}>${texts.reasons[one]}</option>\n`
  })
  return html`<h1>${texts.title}</h1>
<p>${texts.text}</p>
<form method="post" action="${PATH}">${problem && html`\n<p class="wrong" role="alert">${describe(problem, texts)}</p>`}
<label for="url">${texts.url}</label>
<input id="url" name="url" type="url" required maxlength="2000" value="${url}"${url === '' ? html` autofocus` : undefined}>
<label for="reason">${texts.reason}</label>
<select id="reason" name="reason">
${choices}</select>
<label for="text">${texts.details}</label>
<textarea id="text" name="text" rows="5" maxlength="${MAX_REPORT_TEXT_LENGTH}">${text}</textarea>
<label for="email">${texts.email}</label>
<input id="email" name="email" type="email" maxlength="250" value="${email}">
<button>${texts.button}</button>
</form>`
}

/** Names the fields by their labels. In English, also what is wrong. */
function describe(problem: ApiError, texts: VisitorTexts['report']): string {
  if (texts === TEXTS.en.report) return problem.message
  if (problem.code !== 'VALIDATION_ERROR') return texts.refused
  const { url, reason, details: text, email } = texts
  const labels: Record<string, string> = { url, reason, text, email }
  const named = (problem.details as FieldError[]).map(({ field }) => labels[field] ?? field)
  return `${texts.invalid} ${named.join(', ')}`
}
