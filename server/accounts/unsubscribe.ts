import { Component } from '../lib/component.ts'
import { ApiError } from '../lib/errors.ts'
import { Signer } from '../lib/tokens.ts'
import type { Parts } from '../parts.ts'
import type { NoticeEvent } from '../store/tables/notices.ts'
import type { Accounts } from './account.ts'
import { findSwitch, isNoticeKind, readSwitches } from './notice-switches.ts'

export const UNSUBSCRIBE_PATH = '/unsubscribe'

type UnsubscribeParts = Pick<Parts, 'baseUrl' | 'secret' | 'store'> & {
  accounts: Pick<Accounts, 'changeNotices'>
}

export interface UnsubscribeQuery {
  account?: unknown
  kind?: unknown
  signature?: unknown
}

/** Turn one kind of emails off without a sign-in (RFC 8058). */
export class UnsubscribeLinks extends Component<UnsubscribeParts> {
  readonly #signer = new Signer(this.parts.secret, 'unsubscribe')

  /** Undefined when the emails cannot be turned off. */
  create(accountId: string, event: NoticeEvent['kind']): string | undefined {
    const kind = findSwitch(event)
    if (kind === undefined) return undefined
    const query = new URLSearchParams({
      ...{ account: accountId, kind },
      signature: this.#signer.sign([accountId, kind]),
    })
    return `${this.parts.baseUrl}${UNSUBSCRIBE_PATH}?${query}`
  }

  verify({ account, kind, signature }: UnsubscribeQuery) {
    if (typeof account !== 'string' || typeof kind !== 'string' || typeof signature !== 'string')
      return undefined
    return isNoticeKind(kind) && this.#signer.verify([account, kind], signature) ? kind : undefined
  }

  /** False for a link that is not valid. */
  async follow(query: UnsubscribeQuery): Promise<boolean> {
    const kind = this.verify(query)
    if (kind === undefined) return false
    const account = { id: String(query.account) }
    const known = await this.parts.store.read.accounts.find(account.id)
    // A repetition, which no limit counts, writes nothing.
    if (known && !readSwitches(known).notices[kind]) return known.deletionStartedAt === null
    try {
      await this.parts.accounts.changeNotices(account, { notices: { [kind]: false } })
      return true
    } catch (error) {
      // The account has been deleted.
      if (error instanceof ApiError && error.code === 'UNAUTHORIZED') return false
      throw error
    }
  }
}
