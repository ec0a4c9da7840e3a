import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Caller } from '../accounts/authorization.ts'

/** A request of this process, for a caller that was authenticated before. */
interface InternalRequest {
  method: string
  /** Percent-encoded, with the query. */
  url: string
  caller: Caller
  body: unknown
  /** In all for the files in the body. */
  maxContentBytes: number
  /** Ends the request. What it has already changed stays changed. */
  signal: AbortSignal
}

export type InternalResponse = Awaited<ReturnType<typeof requestInternally>>

const requests = new WeakMap<IncomingMessage, InternalRequest>()

/** Undefined for the request of a client. */
export function findInternalRequest(message: IncomingMessage): InternalRequest | undefined {
  return requests.get(message)
}

/**
 * Without a connection: takes the same route, with the same authorization, charges and validation, as the request of a
 * client with the credential of `caller`; only the body is not parsed again. A reader that stops ends the response.
 */
export async function requestInternally(handle: RequestListener, request: InternalRequest) {
  const { inject } = await import('light-my-request')
  const { method, url, body, caller, signal } = request
  const receive = (message: IncomingMessage, response: ServerResponse) => {
    // Nothing more will arrive: neither a minimum rate nor a drain of the rest applies. The path was normalized.
    Object.assign(message, { complete: true, isFinished: true, url })
    requests.set(message, request)
    handle(message, response)
  }
  // The library would emit the error of an ended signal before anything listens.
  signal?.throwIfAborted()
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
