/** Why a connection failed, without the words of OpenSSL and of the parser of Node. */
export function describeConnectionError(error: unknown): string {
  const { message = String(error), errors = [] } = (error ?? {}) as Error & SystemError
  // Of several addresses, each has its own reason.
  if (message === '' && errors.length > 0) return errors.map(describeConnectionError).join(', ')
  const [, reason] = /:SSL routines:[^:]*:([^:]+):/.exec(message) ?? []
  if (reason === 'wrong version number' || reason === 'packet length too long')
    return 'the answer is not HTTPS'
  if (reason !== undefined) return `TLS: ${reason}`
  if (message.startsWith('Parse Error')) return 'the answer is not HTTP'
  // Node continues with an option of its program.
  return message.split('; if the root CA', 1)[0]!
}

interface SystemError {
  code?: string
  cause?: unknown
  errors?: unknown[]
}

/** The code of the system, of TLS or of the parser, such as ECONNREFUSED. */
export function findSystemCode(error: unknown): string | undefined {
  const { code, cause, errors } = (error ?? {}) as SystemError
  return code ?? (cause || errors?.[0] ? findSystemCode(cause ?? errors?.[0]) : undefined)
}
