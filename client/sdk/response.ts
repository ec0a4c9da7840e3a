import type { ErrorBody } from '../../protocol/api/errors.schema.ts'
import { describeConnectionError, findSystemCode } from './connection-error.ts'
import { type ClientErrorCode, SlipwayError } from './slipway-error.ts'
import type { HttpRequest, HttpResponse, Transport } from './transport.ts'

/**
 * Sends a request and returns a successful response; every failure is a SlipwayError, except an abort, which
 * rejects with the signal's reason.
 */
export async function sendRequest(
  send: Transport,
  request: HttpRequest,
  now: () => number,
): Promise<HttpResponse> {
  let response: HttpResponse
  try {
    response = await send(request)
  } catch (error) {
    throw networkError(request, error)
  }
  if (response.status >= 200 && response.status < 300) return response
  throw await errorFromResponse(request, response, now)
}

/** The JSON of a successful response. */
export async function readJson<T>(response: HttpResponse, request: HttpRequest): Promise<T> {
  const text = await readText(response, request)
  try {
    return JSON.parse(text) as T
  } catch (cause) {
    throw new SlipwayError(`${withoutQuery(request.url)} is not a Slipway server`, {
      code: 'BAD_ANSWER',
      status: response.status,
      cause,
    })
  }
}

/** The body of a successful response as it arrives; fails like `sendRequest`. */
export async function* readBytes(response: HttpResponse, request: HttpRequest): AsyncGenerator<Uint8Array> {
  try {
    yield* response.bytes()
  } catch (error) {
    throw networkError(request, error)
  }
}

async function readText(response: HttpResponse, request: HttpRequest): Promise<string> {
  try {
    return await response.text()
  } catch (error) {
    throw networkError(request, error)
  }
}

function networkError({ url, signal }: HttpRequest, error: unknown): unknown {
  if (signal?.aborted) return signal.reason
  return new SlipwayError(`${networkMessage(url, error)}`, { code: 'NETWORK', cause: error })
}

function networkMessage(url: string, error: unknown): string {
  const where = toOrigin(url)
  switch (findSystemCode(error)) {
    case 'ECONNREFUSED':
      return `Can't reach ${where} (connection refused)`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `Can't find the host of ${where}`
    case 'ECONNRESET':
    case 'EPIPE':
      return `The connection to ${where} was lost`
    default:
      return `The connection to ${where} failed: ${describeConnectionError(error)}`
  }
}

async function errorFromResponse(
  request: HttpRequest,
  response: HttpResponse,
  now: () => number,
): Promise<SlipwayError> {
  const text = await readText(response, request)
  const retryAfterSeconds = parseRetryAfterHeader(response, now)
  const body = parseErrorBody(text)
  if (body) {
    const { message, ...rest } = body
    return new SlipwayError(message, { ...rest, status: response.status, retryAfterSeconds })
  }
  return new SlipwayError(unexpectedResponse(request, response), {
    code: 'BAD_ANSWER',
    status: response.status,
    retryAfterSeconds,
  })
}

/** An error of the API, or of OAuth (RFC 6749, section 5.2). */
function parseErrorBody(
  text: string,
): Pick<SlipwayError, 'code' | 'message' | 'details' | 'hint'> | undefined {
  try {
    const {
      error,
      code,
      details,
      hint,
      error_description: description,
    } = JSON.parse(text) as ErrorBody & {
      error_description?: unknown
    }
    if (typeof error !== 'string') return undefined
    if (typeof code === 'string') return { code, message: error, details, hint }
    if (typeof description !== 'string') return undefined
    return { code: error.toUpperCase() as ClientErrorCode, message: description, details, hint }
  } catch {
    return undefined
  }
}

function unexpectedResponse({ url }: HttpRequest, { status, header }: HttpResponse): string {
  const elsewhere = header('location')
  if (elsewhere) return `${toOrigin(url)} redirects to ${elsewhere}. Use that URL instead.`
  return `${withoutQuery(url)} returned ${status}, which is not a response of a Slipway server`
}

function parseRetryAfterHeader({ status, header }: HttpResponse, now: () => number): number | undefined {
  const retryAfter = header('retry-after')
  if (retryAfter !== null)
    return Number.isNaN(Number(retryAfter)) ? secondsUntil(Date.parse(retryAfter), now) : Number(retryAfter)
  const reset = status === 429 ? header('x-ratelimit-reset') : null
  return reset === null ? undefined : secondsUntil(Number(reset) * 1000, now)
}

function secondsUntil(time: number, now: () => number): number | undefined {
  return Number.isNaN(time) ? undefined : Math.max(0, Math.ceil((time - now()) / 1000))
}

/** The query contains tokens. */
function withoutQuery(url: string): string {
  return url.replace(/[?#].*/s, '')
}

function toOrigin(url: string): string {
  return /^https?:\/\/[^/?#]+/i.exec(url)?.[0] ?? 'the server'
}
