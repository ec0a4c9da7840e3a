import type { Limits } from '../../protocol/api/account.schema.ts'
import type { FileLimits } from '../../protocol/api/publish.schema.ts'
import { Component } from '../lib/component.ts'
import type { Log } from '../lib/log.ts'
import type { Queries } from '../store/queries.ts'
import type { Account } from '../store/tables/accounts.ts'

/** Spec 8. `UNLIMITED` is a possible value of each limit. */
export interface Plan extends Limits {
  name: string
}

export type PlanTable = Readonly<Record<string, Plan>>

/** Also the plan of sites without an account. */
export const DEFAULT_PLAN = 'free'

export class Plans extends Component<{ table: PlanTable; log: Pick<Log, 'warn'> }> {
  readonly #reported = new Set<string>()

  get ids(): string[] {
    return Object.keys(this.parts.table)
  }

  /** No exception exceeds it, because request schemas state it. */
  get maxFiles(): number {
    return Math.max(...Object.values(this.parts.table).map(({ filesPerSite }) => filesPerSite))
  }

  find(id: string): Plan | undefined {
    return Object.hasOwn(this.parts.table, id) ? this.parts.table[id] : undefined
  }

  /** The plan with the exceptions of the account; without an account the default plan. */
  limitsOf(account: Pick<Account, 'plan' | 'limits'> | undefined): Plan {
    if (account === undefined) return this.parts.table[DEFAULT_PLAN]!
    const plan = this.find(account.plan) ?? this.#useDefault(account.plan)
    return account.limits === null ? plan : { ...plan, ...account.limits }
  }

  /** The limits of the owner; of an anonymous site those of the default plan. */
  async limitsOfOwner(queries: Pick<Queries, 'accounts'>, ownerId: string | null): Promise<Plan> {
    return this.limitsOf(ownerId === null ? undefined : await queries.accounts.find(ownerId))
  }

  #useDefault(id: string): Plan {
    if (!this.#reported.has(id)) {
      this.#reported.add(id)
      this.parts.log.warn('accounts have a plan that the settings do not define: the default plan applies', {
        plan: id,
        default: DEFAULT_PLAN,
      })
    }
    return this.parts.table[DEFAULT_PLAN]!
  }
}

export function fileLimits({ filesPerSite, fileBytes, siteBytes }: Limits): FileLimits {
  return { files: filesPerSite, fileBytes, siteBytes }
}
