export interface Letter {
  to: string
  subject: string
  text: string
  /** The secret in the message; logged only where messages are stored as files. */
  code?: string
}

/**
 * Sends messages.
 *
 * `send` resolves when a mail server has accepted the message or a file was written. It times out after 15
 * seconds. UNAVAILABLE when the message was not accepted; it may be sent again.
 */
export interface Mail {
  send(letter: Letter): Promise<void>
}
