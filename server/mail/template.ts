import { legalLinks } from '../../protocol/branding.ts'
import { DEFAULT_ACCENT, type ServiceBranding } from '../lib/branding.ts'
import { type Html, html } from '../lib/html.ts'
import type { Email } from './mail.ts'

/** A paragraph, a code on a line of its own, or a link with the style of a button. */
export type EmailBlock = string | { code: string } | { label: string; url: string }

interface EmailContent extends Omit<Email, 'text' | 'html'> {
  blocks: readonly EmailBlock[]
  footer: string
}

/** Lines of the text part have at most this length, unless a word is longer (RFC 3676, 4.2). */
const MAX_LINE_LENGTH = 76

/**
 * An email as text and as HTML. The HTML loads nothing, escapes all values, and sets no background, so that it is
 * legible in light and dark mail clients. It is one table, whose width all of them respect, and begins with the text
 * that lists of emails show beside the subject.
 */
export function renderEmail(
  branding: ServiceBranding,
  { subject: typedSubject, blocks: typedBlocks, footer, ...email }: EmailContent,
): Email {
  const subject = singleLine(typedSubject)
  const blocks = typedBlocks.map((block) => (typeof block === 'string' ? singleLine(block) : block))
  const links = legalLinks(branding).map(({ label, url }) => `\n${label}: ${url}`)
  const text = [...blocks.map(toText), `--\n${wrap(footer)}${links.join('')}`].join('\n\n')
  const html = toDocument({ subject, blocks, footer, branding })
  return { ...email, subject, text: `${text}\n`, html }
}

function toText(block: EmailBlock): string {
  if (typeof block === 'string') return wrap(block)
  return 'code' in block ? `    ${block.code}` : `${block.label}:\n${block.url}`
}

/** Values such as titles of sites may have line breaks and other control characters. */
function singleLine(text: string): string {
  return text.replace(/\p{C}+/gu, ' ').trim()
}

function wrap(paragraph: string): string {
  const lines = ['']
  for (const word of paragraph.split(' ')) {
    const line = lines.at(-1)!
    if (line !== '' && line.length + word.length >= MAX_LINE_LENGTH) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.join('\n')
}

const FONT = 'font-family:system-ui,-apple-system,"Segoe UI",Roboto,sans-serif'
const CODE_FONT = 'font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace'

function toDocument(
  email: Pick<EmailContent, 'subject' | 'blocks' | 'footer'> & { branding: ServiceBranding },
): string {
  const { subject, blocks, footer, branding } = email
  const links = legalLinks(branding).map(({ label, url }) => html`<br><a href="${url}">${label}</a>`)
  const buttonColor = branding.accents?.light.accent ?? DEFAULT_ACCENT
  const [preheader = ''] = blocks.filter((block) => typeof block === 'string')
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${subject}</title>
</head>
<body style="margin:0;padding:24px;${FONT};font-size:16px;line-height:1.5">
<div style="display:none;max-height:0;overflow:hidden">${preheader}</div>
<table role="presentation" width="100%" style="max-width:544px;margin:0 auto;border-spacing:0"><tr><td style="padding:0;${FONT};font-size:16px;line-height:1.5">
<p style="margin:0 0 24px;font-weight:600">${branding.name}</p>
${blocks.map((block) => toHtml(block, buttonColor))}<p style="margin:32px 0 0;font-size:13px;opacity:.75">${footer}${links}</p>
</td></tr></table>
</body>
</html>
`.text
}

function toHtml(block: EmailBlock, buttonColor: string): Html {
  if (typeof block === 'string')
    return html`<p style="margin:0 0 16px">${block}</p>
`
  if ('code' in block)
    return html`<p style="margin:24px 0;${CODE_FONT};font-size:28px;font-weight:600;letter-spacing:2px">${block.code}</p>
`
  return html`<p style="margin:24px 0"><a href="${block.url}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:${buttonColor};color:#ffffff;font-weight:600;text-decoration:none">${block.label}</a></p>
`
}
