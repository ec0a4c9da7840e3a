import type { Accounts } from '../account.ts'
import type { Archives } from '../archive-publish.ts'
import type { Domains } from '../domain.ts'
import type { Finalizing } from '../finalize.ts'
import type { Leaving } from '../leaving.ts'
import type { RateLimits } from '../limits/limits.ts'
import type { Shares } from '../limits/shares.ts'
import type { Publishing } from '../publish.ts'
import type { Sessions } from '../session.ts'
import type { Sites } from '../site.ts'
import type { Staging } from '../stage.ts'
import type { Versions } from '../version.ts'
import type { Visits } from '../visits/visits.ts'

/** What the table of routes hands out; a handler takes the one or two it uses. */
export interface Rooms {
  accounts: Accounts
  sessions: Sessions
  leaving: Leaving
  staging: Staging
  publishing: Publishing
  finalizing: Finalizing
  archives: Archives
  sites: Sites
  versions: Versions
  domains: Domains
  visits: Visits
  limits: RateLimits
  /** Bounds the uploads and archives that are read at the same time. */
  uploads: Shares
}
