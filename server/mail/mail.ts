export interface Letter {
  to: string
  subject: string
  text: string
  /** The secret in the letter; shown in the log only where letters go to files instead of people. */
  code?: string
}

/**
 * Sends letters.
 *
 * `send` resolves once somebody else has taken the letter over: a mail server, or a file that was written.
 * It gives up after 15 seconds. UNAVAILABLE when the letter was not taken over; it may be sent again.
 */
export interface Mail {
  send(letter: Letter): Promise<void>
}
