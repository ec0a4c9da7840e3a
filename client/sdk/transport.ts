/** The bytes of a file. A stream is read once and never buffered as a whole. */
export type Bytes = Uint8Array | Blob | AsyncIterable<Uint8Array>

/** A request body. */
export type RequestBody = string | Bytes

export interface HttpRequest {
  method: string
  url: string
  headers: Record<string, string>
  body?: RequestBody
  /** Length of a streamed body in bytes. */
  size?: number
  /** Receives the number of bytes sent so far, from transports that can report it. */
  onSent?: (bytes: number) => void
  signal?: AbortSignal
}

export interface HttpResponse {
  status: number
  /** A header by its lower-case name. */
  header(name: string): string | null
  text(): Promise<string>
  /** The body as it arrives. */
  bytes(): AsyncIterable<Uint8Array>
}

/**
 * Sends one HTTP request. Resolves for every response whatever its status, never follows a redirect, and
 * rejects without a response or on an abort.
 */
export type Transport = (request: HttpRequest) => Promise<HttpResponse>

/**
 * The transport of browsers and other runtimes with `fetch`. Cookies are sent to the page's own origin only.
 */
export const fetchTransport: Transport = async (request) => {
  const response = await fetch(request.url, {
    method: request.method,
    headers: request.headers,
    redirect: 'manual',
    ...(request.signal && { signal: request.signal }),
    ...fetchBody(request.body),
  })
  return {
    status: response.status,
    header: (name) => response.headers.get(name),
    text: () => response.text(),
    bytes: () => readStream(response.body),
  }
}

function fetchBody(body: RequestBody | undefined): RequestInit & { duplex?: 'half' } {
  if (body === undefined) return {}
  if (typeof body === 'string' || body instanceof Blob) return { body }
  // Developer tools copy byte arrays, which takes long; a Blob is not copied.
  if (body instanceof Uint8Array) return { body: new Blob([body as Uint8Array<ArrayBuffer>]) }
  return { body: toReadableStream(body), duplex: 'half' }
}

function toReadableStream(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await iterator.return?.()
    },
  })
}

async function* readStream(stream: ReadableStream<Uint8Array> | null): AsyncIterable<Uint8Array> {
  if (!stream) return
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel()
  }
}
