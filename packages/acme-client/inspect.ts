import { missingEab, readDirectory, selectProfile } from './directory.ts'
import { AcmeTransport, Deadline } from './transport.ts'

interface InspectOptions {
  directory: string
  caFile?: string | undefined
  profile: string
  hasExternalAccount: boolean
  version: string
}

const TIMEOUT_MS = 10_000

/**
 * Fetches the directory of a CA, and registers nothing. AcmeError when it cannot be used with these settings. Returns
 * how far this machine's clock is ahead of the CA's, in milliseconds.
 */
export async function inspectAuthority(options: InspectOptions): Promise<{ clockOffsetMs: number }> {
  const { directory: url, profile, hasExternalAccount } = options
  using transport = new AcmeTransport({ ...options, requestTimeoutMs: TIMEOUT_MS })
  const response = await transport.request(
    { method: 'GET', url },
    new Deadline(TIMEOUT_MS, () => Promise.resolve()),
  )
  const now = Date.now()
  const directory = readDirectory(response, now)
  if (directory.externalAccountRequired && !hasExternalAccount) throw missingEab()
  selectProfile(profile, directory)
  const { date = '' } = response.headers
  return { clockOffsetMs: now - (Date.parse(date) || now) }
}
