import type { Incoming, Outgoing, Payload, Send } from '../../client/sdk/transport.ts'
import { carry, here } from '../api/slipway.ts'

/** Milliseconds without a byte in either direction after which an upload counts as broken. */
const SILENCE = 60_000

const UPLOADS = '/api/v1/_upload/'

/** Carries calls as this page does, and uploads so that one hears how far they are, which `fetch` does not tell. */
export const transport: Send = (request) =>
  here(request.url).startsWith(UPLOADS) ? upload(request) : carry(request)

function upload({ method, url, headers, body, signal, onSent }: Outgoing): Promise<Incoming> {
  return new Promise((settle, fail) => {
    const request = new XMLHttpRequest()
    const silence = new Silence(() => request.abort())
    const stop = () => request.abort()
    request.open(method, here(url))
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
    request.upload.addEventListener('progress', ({ loaded }) => {
      silence.broken()
      onSent?.(loaded)
    })
    request.addEventListener('loadend', () => {
      silence.end()
      signal?.removeEventListener('abort', stop)
      if (request.status > 0) settle(incoming(request))
      else fail(signal?.aborted ? signal.reason : new TypeError('the connection broke'))
    })
    signal?.addEventListener('abort', stop)
    if (signal?.aborted) fail(signal.reason)
    else request.send(whole(body))
  })
}

function incoming(request: XMLHttpRequest): Incoming {
  return {
    status: request.status,
    header: (name) => request.getResponseHeader(name),
    text: async () => request.responseText,
    async *bytes() {
      yield new TextEncoder().encode(request.responseText)
    },
  }
}

function whole(body: Payload | undefined): XMLHttpRequestBodyInit | null {
  if (body === undefined) return null
  if (typeof body === 'string' || body instanceof Blob) return body
  // Developer tools copy bytes that are sent, and not those of a Blob.
  if (body instanceof Uint8Array) return new Blob([body as Uint8Array<ArrayBuffer>])
  throw new TypeError('browsers send no streams here')
}

/** Notices when nothing happens for too long. */
class Silence {
  readonly #onSilence: () => void
  #timer: ReturnType<typeof setTimeout>

  constructor(onSilence: () => void) {
    this.#onSilence = onSilence
    this.#timer = setTimeout(onSilence, SILENCE)
  }

  broken(): void {
    this.end()
    this.#timer = setTimeout(this.#onSilence, SILENCE)
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}
