import { readFileSync } from 'node:fs'
import type { ClientConfig } from 'pg'

export interface Cluster {
  hosts: readonly { host: string; port: number }[]
  config: Pick<ClientConfig, 'user' | 'password' | 'database' | 'ssl'>
}

const URL_FORM = /^postgres(?:ql)?:\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/
const DEFAULT_PORT = 5432

/**
 * Parses a connection URL of PostgreSQL, which may name several hosts (`postgres://user@one,two:5433/db`). Of its
 * parameters it knows `host` (a folder with a Unix socket), `sslmode` (`disable`, `require`, `verify-ca` or `verify-full`) and
 * `sslrootcert` (a file). Throws an Error with the end of a sentence that names the part and shows none of it.
 */
export function parseConnectionUrl(url: string): Cluster {
  const match = URL_FORM.exec(url)
  if (!match) throw new Error('must have the form postgres://user:password@host:port/database')
  const [, user = '', password = '', authority = '', database = '', query = ''] = match
  const parameters = new URLSearchParams(query)
  if ([...parameters.keys()].some((name) => !['host', 'sslmode', 'sslrootcert'].includes(name)))
    throw new Error('has an unknown parameter: only host, sslmode and sslrootcert are allowed')
  const socket = parameters.get('host')
  const names = socket === null ? authority.split(',') : [socket]
  return {
    hosts: names.map((name) => parseHost(name)),
    config: {
      ...(user === '' ? {} : { user: decode(user) }),
      ...(password === '' ? {} : { password: decode(password) }),
      ...(database === '' ? {} : { database: decode(database) }),
      ssl: parseTls(parameters.get('sslmode') ?? 'disable', parameters.get('sslrootcert')),
    },
  }
}

function parseHost(text: string): Cluster['hosts'][number] {
  if (text.startsWith('/')) return { host: text, port: DEFAULT_PORT }
  const match = /^(?:\[([^\]]+)\]|([^:@]+))(?::(\d{1,5}))?$/.exec(text)
  // The text is not shown: after a character that is not percent-encoded it is a part of the password.
  if (!match)
    throw new Error('has an invalid host, or a user or password with characters that are not percent-encoded')
  return { host: match[1] ?? match[2]!, port: Number(match[3] ?? DEFAULT_PORT) }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    throw new Error('has an invalid percent-encoding', { cause: error })
  }
}

function parseTls(mode: string, rootFile: string | null): ClientConfig['ssl'] {
  const ca = rootFile === null ? {} : { ca: readRootFile(rootFile) }
  // As in libpq.
  switch (mode === 'require' && rootFile !== null ? 'verify-ca' : mode) {
    case 'disable':
      return false
    case 'require':
      return { rejectUnauthorized: false }
    case 'verify-ca':
      return { rejectUnauthorized: true, checkServerIdentity: () => undefined, ...ca }
    case 'verify-full':
      return { rejectUnauthorized: true, ...ca }
  }
  throw new Error('has an unknown sslmode: only disable, require, verify-ca and verify-full are allowed')
}

function readRootFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error('names an sslrootcert that is not a file that can be read', { cause: error })
  }
}
