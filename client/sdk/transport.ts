/** The bytes of a file. A stream is read once and never held in memory as a whole. */
export type Bytes = Uint8Array | Blob | AsyncIterable<Uint8Array>

/** What a request may carry. */
export type Payload = string | Bytes

export interface Outgoing {
  method: string
  url: string
  headers: Record<string, string>
  body?: Payload
  /** Length of a streamed body in bytes. */
  size?: number
  /** Hears how many bytes of a whole body have gone so far, from transports that can tell. */
  onSent?: (bytes: number) => void
  signal?: AbortSignal
}

export interface Incoming {
  status: number
  /** A header by its lower-case name. */
  header(name: string): string | null
  text(): Promise<string>
  /** The body as it arrives. */
  bytes(): AsyncIterable<Uint8Array>
}

/**
 * Carries one HTTP request. Resolves for every answer whatever its status, never follows a redirect,
 * and rejects when there is no answer or when the signal aborts.
 */
export type Send = (request: Outgoing) => Promise<Incoming>

/** The transport of browsers, and of any runtime with `fetch`. Cookies go to the page's own origin only. */
export const fetchTransport: Send = async (request) => {
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
    bytes: () => read(response.body),
  }
}

function fetchBody(body: Payload | undefined): RequestInit & { duplex?: 'half' } {
  if (body === undefined) return {}
  if (typeof body === 'string' || body instanceof Blob) return { body }
  // What watches a browser, such as its developer tools, copies bytes and takes long over it; a Blob is left alone.
  if (body instanceof Uint8Array) return { body: new Blob([body as Uint8Array<ArrayBuffer>]) }
  return { body: streamOf(body), duplex: 'half' }
}

function streamOf(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
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

async function* read(stream: ReadableStream<Uint8Array> | null): AsyncIterable<Uint8Array> {
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
