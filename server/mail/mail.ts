import { stripControlChars } from '../../protocol/format.ts'
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
  /** The secret in the email; shown to the operator where emails are stored as files. */
  code?: string
}

const MAX_REPLY_LENGTH = 300

/** The mail server rejected the address or the email permanently (RFC 5321, 4.2.1). */
export class MailRejectedError extends ApiError {
  readonly reply: string

  constructor(message: string, reply: string) {
    super('UNAVAILABLE', message, { retryAfterSeconds: 60 })
    this.reply = stripControlChars(reply).slice(0, MAX_REPLY_LENGTH)
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
 * `send` resolves when a mail server has accepted the email or a file was written. It times out after 15
 * seconds. UNAVAILABLE when the email was not accepted; it may be sent again unless the error is a MailRejectedError.
 */
export interface Mail {
  /** Where sign-in codes appear: in emails, or in the terminal of the service (`log`). */
  readonly delivery: 'email' | 'log'
  send(email: Email): Promise<void>
}
