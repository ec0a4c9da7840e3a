import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import type { Account, Api } from './api.ts'
import { browser, type SignedIn } from './browser.ts'

/** An account that administers the service, with a browser session and a key of scope `admin`. */
export interface Administrator {
  email: string
  /** Headers of requests of the dashboard. */
  session: SignedIn['headers']
  key: string
}

/** Marks an account as `slipway-server account admin` does, by default a new one, and creates its key. */
export async function administrator(api: Api, account?: Account): Promise<Administrator> {
  const { email } = account ?? (await api.account())
  await (await api.operator()).administrators.set(COMMAND_LINE, email, true)
  const { headers: session } = await browser(api, { email })
  const json = { name: 'administration', scope: 'admin' }
  const created = await api.request('POST', '/api/v1/me/keys', { headers: session, json })
  return { email, session, key: created.json.apiKey }
}
