import type { SendMailOptions } from 'nodemailer'
import type { Email } from './mail.ts'

/** nodemailer adds `Date` and `Message-ID`. `Auto-Submitted` keeps automatic answers away (RFC 3834). */
export function toMessage({ to, subject, text, html, unsubscribeUrl }: Email, from: string): SendMailOptions {
  const unsubscribe = unsubscribeUrl && {
    'List-Unsubscribe': `<${unsubscribeUrl}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  }
  return { from, to, subject, text, html, headers: { 'Auto-Submitted': 'auto-generated', ...unsubscribe } }
}

export async function buildMessage(email: Email, from: string): Promise<Buffer> {
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({ streamTransport: true, buffer: true })
  const { message } = await transport.sendMail(toMessage(email, from))
  return message as Buffer
}
