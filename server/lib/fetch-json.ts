interface FetchOptions {
  signal: AbortSignal
  maxBytes: number
  headers?: Record<string, string>
}

/** Requests a JSON document, without following redirects. Rejects for any status but success, and beyond `maxBytes`. */
export async function fetchJson(
  url: string,
  { signal, maxBytes, headers = {} }: FetchOptions,
): Promise<unknown> {
  const { ok, status, body } = await fetch(url, { signal, headers, redirect: 'error' })
  if (!ok || !body) {
    await body?.cancel()
    throw new Error(`${url} returned ${status}`)
  }
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error(`${url} returned more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return JSON.parse(Buffer.concat(chunks).toString())
}
