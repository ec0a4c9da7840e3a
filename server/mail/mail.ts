import type { SendMailOptions } from 'nodemailer'
import { stripControlChars, truncate } from '../../protocol/format.ts'
import { ApiError } from '../lib/errors.ts'

export interface Email {
  /** Names the email in the log, such as `sign-in-code`. */
  kind: string
  to: string
  subject: string
  text: string
  html: string
  /** Where a mail client turns this kind of email off in one click (RFC 8058). */
  unsubscribeUrl?: string | undefined
  /** Whether a request waits until the email is sent, by default: then a slow mail server has less time. */
  isAwaited?: boolean
  /** The secret in the email; shown to the operator where emails are stored as files. */
  code?: string
}

const MAX_REPLY_LENGTH = 300

/** The mail server rejected the address or the email permanently (RFC 5321, 4.2.1). */
export class MailRejectedError extends ApiError {
  readonly reply: string

  constructor(message: string, reply: string) {
    super('UNAVAILABLE', message, { retryAfterSeconds: 60 })
    this.reply = truncate(stripControlChars(reply), MAX_REPLY_LENGTH)
  }
}

/** The mail server does not accept an email to this address for now; it may accept others (RFC 5321, 4.2.1). */
export class MailDeferredError extends ApiError {
  constructor(message: string) {
    super('UNAVAILABLE', message, { retryAfterSeconds: 60 })
  }
}

/**
 * Sends emails.
 *
 * `send` resolves when a mail server has accepted the email or a file was written. It times out after 15 seconds, or after
 * 60 if no request waits. UNAVAILABLE when it was not accepted; it may be sent again unless that is a MailRejectedError.
 */
export interface Mail {
  /** Where sign-in codes appear: in emails, or in the terminal of the service (`log`). */
  readonly delivery: 'email' | 'log'
  send(email: Email): Promise<void>
}

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

/** Shows a sign-in code to the operator, where no mail server is configured. */
export type ShowCode = (code: { email: string; code: string }) => void

/** A box for a terminal; otherwise one plain line, which is no part of a JSON log. */
export function formatCode({ email, code }: { email: string; code: string }, isTerminal: boolean): string {
  const line = stripControlChars(`Sign-in code for ${email}: ${code}`)
  if (!isTerminal) return `${line}\n`
  const edge = '─'.repeat(line.length + 4)
  return `\n  ┌${edge}┐\n  │  ${line}  │\n  └${edge}┘\n\n`
}
