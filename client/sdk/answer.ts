import type { ErrorBody } from '../wire.ts'
import { SlipwayError } from './slipway-error.ts'
import type { Incoming, Outgoing, Send } from './transport.ts'

/**
 * Carries a request and gives back the answer when it is a success; every failure is a SlipwayError,
 * except an abort, which rejects with the signal's reason.
 */
export async function reach(send: Send, request: Outgoing, now: () => number): Promise<Incoming> {
  let incoming: Incoming
  try {
    incoming = await send(request)
  } catch (error) {
    throw broken(request, error)
  }
  if (incoming.status >= 200 && incoming.status < 300) return incoming
  throw await refusal(request, incoming, now)
}

/** The JSON of a successful answer. */
export async function jsonOf<T>(incoming: Incoming, request: Outgoing): Promise<T> {
  const text = await textOf(incoming, request)
  try {
    return JSON.parse(text) as T
  } catch (cause) {
    throw new SlipwayError(`${withoutQuery(request.url)} did not answer like a Slipway server`, {
      code: 'BAD_ANSWER',
      status: incoming.status,
      cause,
    })
  }
}

/** The body of a successful answer as it comes; it fails as `reach` does. */
export async function* bytesOf(incoming: Incoming, request: Outgoing): AsyncGenerator<Uint8Array> {
  try {
    yield* incoming.bytes()
  } catch (error) {
    throw broken(request, error)
  }
}

async function textOf(incoming: Incoming, request: Outgoing): Promise<string> {
  try {
    return await incoming.text()
  } catch (error) {
    throw broken(request, error)
  }
}

function broken({ url, signal }: Outgoing, error: unknown): unknown {
  if (signal?.aborted) return signal.reason
  return new SlipwayError(`${sentence(url, error)}`, { code: 'NETWORK', cause: error })
}

function sentence(url: string, error: unknown): string {
  const where = originOf(url)
  switch (systemCode(error)) {
    case 'ECONNREFUSED':
      return `Nothing answers at ${where} (connection refused)`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The host of ${where} cannot be found`
    case 'ECONNRESET':
    case 'EPIPE':
      return `The connection to ${where} broke`
    default:
      return `The connection to ${where} failed: ${error instanceof Error ? error.message : error}`
  }
}

interface SystemError {
  code?: string
  cause?: unknown
  errors?: unknown[]
}

function systemCode(error: unknown): string | undefined {
  const { code, cause, errors } = (error ?? {}) as SystemError
  return code ?? (cause || errors?.[0] ? systemCode(cause ?? errors?.[0]) : undefined)
}

async function refusal(request: Outgoing, incoming: Incoming, now: () => number): Promise<SlipwayError> {
  const text = await textOf(incoming, request)
  const retryAfterSeconds = retryAfter(incoming, now)
  const body = errorBody(text)
  if (body) {
    const { error, code, details } = body
    return new SlipwayError(error, { code, status: incoming.status, details, retryAfterSeconds })
  }
  return new SlipwayError(strange(request, incoming), {
    code: 'BAD_ANSWER',
    status: incoming.status,
    retryAfterSeconds,
  })
}

function errorBody(text: string): ErrorBody | undefined {
  try {
    const body = JSON.parse(text) as ErrorBody
    return typeof body.error === 'string' && typeof body.code === 'string' ? body : undefined
  } catch {
    return undefined
  }
}

function strange({ url }: Outgoing, { status, header }: Incoming): string {
  const elsewhere = header('location')
  if (elsewhere) return `${originOf(url)} redirects to ${elsewhere}: name that server instead`
  return `${withoutQuery(url)} answered ${status}, and not like a Slipway server`
}

function retryAfter({ status, header }: Incoming, now: () => number): number | undefined {
  const asked = header('retry-after')
  if (asked !== null)
    return Number.isNaN(Number(asked)) ? secondsUntil(Date.parse(asked), now) : Number(asked)
  const reset = status === 429 ? header('x-ratelimit-reset') : null
  return reset === null ? undefined : secondsUntil(Number(reset) * 1000, now)
}

function secondsUntil(time: number, now: () => number): number | undefined {
  return Number.isNaN(time) ? undefined : Math.max(0, Math.ceil((time - now()) / 1000))
}

/** Tokens are in the query. */
function withoutQuery(url: string): string {
  return url.replace(/[?#].*/s, '')
}

function originOf(url: string): string {
  return /^https?:\/\/[^/?#]+/i.exec(url)?.[0] ?? 'the server'
}
