import type { MemoryBudget } from '../packages/http-server/memory/second-chance-cache.ts'
import type { Plans } from './accounts/plans.ts'
import type { Quotas } from './accounts/quotas.ts'
import type { BlobReader } from './blobs/blob-reader.ts'
import type { Blobs } from './blobs/blobs.ts'
import type { Config } from './config/settings.ts'
import type { ServiceBranding } from './lib/branding.ts'
import type { Log } from './lib/log.ts'
import type { Telemetry } from './lib/telemetry.ts'
import type { Secrets } from './lib/tokens.ts'
import type { Mail } from './mail/mail.ts'
import type { PublishQueue } from './publish/publish-queue.ts'
import type { UrlBuilder } from './sites/urls.ts'
import type { Store } from './store/store.ts'

/** One frozen object; a constructor takes what it uses (`Pick<Parts, …>`), with the services that it needs beside. */
export interface Parts {
  config: Config
  /** `{base_url}`, without a final slash. */
  baseUrl: string
  branding: ServiceBranding
  store: Store
  blobs: Blobs
  blobReader: BlobReader
  mail: Mail
  addresses: UrlBuilder
  plans: Plans
  quotas: Quotas
  publishQueue: PublishQueue
  /** The secret of the service, after it the one before. */
  secret: Secrets
  budget: MemoryBudget
  clock: () => number
  log: Log
  telemetry: Telemetry
}
