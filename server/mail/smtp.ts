import { ApiError } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import type { Mail } from './mail.ts'

const MAX_ATTEMPTS = 2

/** Milliseconds for each step of a delivery; all attempts together stay below the contract's 15 seconds. */
const STEP_TIMEOUT_MS = 3500

/** Mail over SMTP or SMTPS, with STARTTLS where the server offers it. */
export function smtpMail(options: { url: string; from: string; log: Log }): Mail {
  return {
    async send({ code: _, ...letter }) {
      const { createTransport } = await import('nodemailer')
      const transport = createTransport({
        url: options.url,
        connectionTimeout: STEP_TIMEOUT_MS,
        greetingTimeout: STEP_TIMEOUT_MS,
        socketTimeout: STEP_TIMEOUT_MS,
      })
      for (let attempt = 1; ; attempt++) {
        try {
          await transport.sendMail({ from: options.from, ...letter })
          return
        } catch (error) {
          options.log.warn('mail server rejected a message', { to: letter.to, attempt, error })
          if (attempt === MAX_ATTEMPTS || isFinal(error)) {
            throw new ApiError(
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

/** RFC 5321, 4.2.1: a 5xx reply is permanent. */
function isFinal(error: unknown): boolean {
  return ((error as { responseCode?: number }).responseCode ?? 0) >= 500
}
