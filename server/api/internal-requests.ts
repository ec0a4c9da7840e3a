import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Caller } from '../accounts/authorization.ts'

/** A request of this process to its own API, for a caller that was authenticated before. */
interface InternalRequest {
  method: string
  /** The path and the query, percent-encoded. */
  url: string
  caller: Caller
  /** The parsed JSON body. */
  body: unknown
  /** Maximum bytes of the files whose contents are in the body. */
  maxContentBytes: number
  /** Ends the request. What it has already changed stays changed. */
  signal: AbortSignal
}

export interface InternalResponse {
  status: number
  headers: Readonly<Record<string, unknown>>
  /** Ends the response when its reader stops. */
  body: AsyncIterable<Buffer>
}

const requests = new WeakMap<IncomingMessage, InternalRequest>()

/** The internal request that the API handles as this message; undefined for the request of a client. */
export function findInternalRequest(message: IncomingMessage): InternalRequest | undefined {
  return requests.get(message)
}

/**
 * Passes a request to the API without a connection. It takes the same route, with the same authorization, charges and
 * validation, as the request of a client with the credential of `caller`; only its body is not parsed again.
 */
export async function requestInternally(
  handle: RequestListener,
  request: InternalRequest,
): Promise<InternalResponse> {
  const { inject } = await import('light-my-request')
  const { method, url, body, caller, signal } = request
  const receive = (message: IncomingMessage, response: ServerResponse) => {
    // Nothing more will arrive: neither a minimum rate nor a drain of the rest applies. The path was normalized.
    Object.assign(message, { complete: true, isFinished: true, url })
    requests.set(message, request)
    handle(message, response)
  }
  const { statusCode, headers, stream, raw } = await inject(receive, {
    method: method as 'GET',
    url,
    remoteAddress: caller.address,
    payloadAsStream: true,
    signal,
    ...(body === undefined ? {} : { payload: PARSED_BODY, headers: { 'content-type': 'application/json' } }),
  })
  return { status: statusCode, headers, body: readUntilEnd(stream(), raw.res) }
}

/** Takes the place of a body that is parsed already. */
const PARSED_BODY = '{}'

async function* readUntilEnd(
  stream: AsyncIterable<Buffer>,
  response: ServerResponse,
): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* stream
  } finally {
    response.destroy()
  }
}
