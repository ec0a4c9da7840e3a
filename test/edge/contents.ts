import { parseRules, type SiteRules } from '../../server/site-rules/site-rules.ts'

/** A file's text or bytes, optionally with its type. */
export type Content = string | Buffer | { type: string; body: string | Buffer }

const TYPES: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css',
  js: 'text/javascript',
  txt: 'text/plain',
  json: 'application/json',
}

/** Default media types by extension. */
export function defaultType(path: string): string {
  return TYPES[path.split('.').at(-1)!] ?? 'application/octet-stream'
}

/** The bytes and the media type of a content. */
export function typed(path: string, content: Content): { type: string; body: Buffer } {
  const { type, body } =
    typeof content === 'string' || Buffer.isBuffer(content)
      ? { type: defaultType(path), body: content }
      : content
  return { type, body: typeof body === 'string' ? Buffer.from(body) : body }
}

/** The rules as finalize stores them. */
export function readRules(contents: Record<string, Content>): SiteRules | null {
  const textOf = (path: string) =>
    path in contents ? typed(path, contents[path]!).body.toString() : undefined
  return parseRules({ redirects: textOf('_redirects'), headers: textOf('_headers') }).rules
}
