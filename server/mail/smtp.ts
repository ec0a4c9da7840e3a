import { Failure } from '../failure.ts'
import type { Log } from '../log.ts'
import type { Mail } from './mail.ts'

const TRIES = 2

/** Milliseconds for each step of a delivery; all tries together stay under the contract's 15 seconds. */
const STEP = 3500

/** Mail over SMTP or SMTPS, with STARTTLS where the server offers it. */
export function smtpMail(options: { url: string; from: string; log: Log }): Mail {
  return {
    async send({ code: _, ...letter }) {
      const { createTransport } = await import('nodemailer')
      const transport = createTransport({
        url: options.url,
        connectionTimeout: STEP,
        greetingTimeout: STEP,
        socketTimeout: STEP,
      })
      for (let attempt = 1; ; attempt++) {
        try {
          await transport.sendMail({ from: options.from, ...letter })
          return
        } catch (error) {
          options.log.warn('a letter was not taken by the mail server', { to: letter.to, attempt, error })
          if (attempt === TRIES || isFinal(error)) {
            throw new Failure(
              'UNAVAILABLE',
              'The letter could not be sent; check the address and try again',
              {
                cause: error,
                retryAfterSeconds: 60,
              },
            )
          }
        }
      }
    },
  }
}

/** RFC 5321, 4.2.1: a reply of 5xx stays the same however often it is asked for. */
function isFinal(error: unknown): boolean {
  return ((error as { responseCode?: number }).responseCode ?? 0) >= 500
}
