/** A GET request on the wire, with its headers in order. */
export interface Request {
  path: string
  headers: readonly (readonly [name: string, value: string])[]
}

/** A minimal request of a program. */
export function bareRequest(path: string, host: string): Request {
  return { path, headers: [['Host', host]] }
}

/** The 14 headers of a page navigation in Chromium on Linux, in its order. */
export function browserRequest(path: string, host: string): Request {
  return {
    path,
    headers: [
      ['Host', host],
      ['Connection', 'keep-alive'],
      ['sec-ch-ua', '"Chromium";v="142", "Not_A Brand";v="99"'],
      ['sec-ch-ua-mobile', '?0'],
      ['sec-ch-ua-platform', '"Linux"'],
      ['Upgrade-Insecure-Requests', '1'],
      [
        'User-Agent',
        'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
      ],
      [
        'Accept',
        'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
      ],
      ['Sec-Fetch-Site', 'none'],
      ['Sec-Fetch-Mode', 'navigate'],
      ['Sec-Fetch-User', '?1'],
      ['Sec-Fetch-Dest', 'document'],
      ['Accept-Encoding', 'gzip, deflate, br, zstd'],
      ['Accept-Language', 'en-US,en;q=0.9'],
    ],
  }
}

export function withHeader(request: Request, name: string, value: string): Request {
  return { ...request, headers: [...request.headers, [name, value]] }
}

export function wireForm({ path, headers }: Request): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`)
  return `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}
