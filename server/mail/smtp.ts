import { setTimeout as sleep } from 'node:timers/promises'
import { DEADLINES, type Deadlines } from '../lib/deadlines.ts'
import { ApiError } from '../lib/errors.ts'
import { type Log, maskEmail } from '../lib/log.ts'
import { type Mail, MailDeferredError, MailRejectedError, toMessage } from './mail.ts'

const MAX_ATTEMPTS = 2

/** Between two attempts: a server that restarts or is busy gets time. */
const RETRY_DELAY_MS = 500

/** Rejects unless the mail server can be reached, speaks TLS where the URL says so, and accepts the login. */
export async function checkSmtp(url: string): Promise<void> {
  const transport = await openTransport(url, DEADLINES.mail.connect, DEADLINES.mail.send)
  try {
    await transport.verify()
  } finally {
    transport.close()
  }
}

interface SmtpMailOptions {
  url: string
  from: string
  log: Log
  pause?: (milliseconds: number) => Promise<unknown>
  createTimeout?: (milliseconds: number) => AbortSignal
  deadlines?: Deadlines['mail']
}

/** Mail over SMTP or SMTPS, with STARTTLS where the server offers it. */
export function smtpMail(options: SmtpMailOptions): Mail {
  const { pause = sleep, createTimeout = (milliseconds) => AbortSignal.timeout(milliseconds) } = options
  const { connect, send, background } = options.deadlines ?? DEADLINES.mail
  return {
    delivery: 'email',
    async send(email) {
      const { kind } = email
      const startedAt = performance.now()
      // For all attempts, also with a server that sends a byte now and then.
      const timeoutMs = email.isAwaited === false ? background : send
      const signal = createTimeout(timeoutMs)
      const transport = await openTransport(options.url, connect, timeoutMs)
      for (let attempt = 1; ; attempt++) {
        try {
          await transport.sendMail({ ...toMessage(email, options.from), signal })
          options.log.info('email sent', { kind, durationMs: Math.round(performance.now() - startedAt) })
          return
        } catch (error) {
          const { event, reason } = describeFailure(error)
          const to = maskEmail(email.to)
          const cause = (error as Error).message.replaceAll(email.to, to)
          options.log.warn(event, { kind, to, attempt, cause })
          if (attempt === MAX_ATTEMPTS || signal.aborted || isFinal(error)) {
            const sentence = `The email could not be sent: the mail server ${reason}`
            if (!concernsEmail(error)) throw new ApiError('UNAVAILABLE', sentence, { retryAfterSeconds: 60 })
            throw isRefusal(error) ? new MailRejectedError(sentence, cause) : new MailDeferredError(sentence)
          }
          await pause(RETRY_DELAY_MS)
        }
      }
    },
  }
}

/** A server may check the content before it replies: a second attempt after a shorter time would be a second email. */
async function openTransport(url: string, connectionTimeout: number, socketTimeout: number) {
  const { createTransport } = await import('nodemailer')
  return createTransport({ url, connectionTimeout, greetingTimeout: connectionTimeout, socketTimeout })
}

interface SmtpFailure extends Error {
  /** Of the last reply; missing when the server could not be reached or the connection ended. */
  responseCode?: number
  response?: string
  command?: string
}

/** The line for the log, and the end of the sentence for the caller. */
function describeFailure(error: unknown): { event: string; reason: string } {
  const { responseCode, command } = error as SmtpFailure
  if (responseCode === undefined)
    return { event: 'mail server does not respond', reason: 'does not respond. Try again later.' }
  const isAddress = command === 'RCPT TO' && isRefusal(error)
  const reason = isAddress ? 'rejected the address. Check it and try again.' : 'rejected it. Try again later.'
  return { event: 'mail server rejected an email', reason }
}

/** Whether the server refused the address or the email; not the sender, its login or the connection (421). */
function concernsEmail(error: unknown): boolean {
  const { responseCode, command = '' } = error as SmtpFailure
  return responseCode !== undefined && responseCode !== 421 && ['RCPT TO', 'DATA'].includes(command)
}

/** RFC 5321, 4.2.1: a 5xx reply is permanent. */
function isFinal(error: unknown): boolean {
  return ((error as SmtpFailure).responseCode ?? 0) >= 500
}

/** Of the recipient; not by a policy (5.7), of the sender (5.1.7, 5.1.8) or, after DATA, of the content (RFC 3463, 3). */
function isRefusal(error: unknown): boolean {
  const { command, response = '' } = error as SmtpFailure
  const isOfRecipient = command === 'RCPT TO' || /^5\d\d[ -]5\.(?:1\.|2\.[0124]\b)/.test(response)
  return isFinal(error) && isOfRecipient && !/^5\d\d[ -]5\.(?:7\.|1\.[78]\b)/.test(response)
}
