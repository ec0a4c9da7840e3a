import { parseBucketUrl } from '../../packages/s3-client/bucket-url.ts'
import { s3Blobs } from '../../server/blobs/s3/s3.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import type { Store } from '../../server/store/store.ts'
import { PublishingNodes } from '../blobs/publishing-nodes.ts'
import { openStore } from '../store/test-database.ts'
import { PATIENT } from '../support/patient.ts'
import { Random } from '../support/random.ts'
import type { CephClient } from '../tools/ceph.ts'
import type { PostgresClient } from '../tools/postgres.ts'
import { Report } from './report.ts'

interface CollectionOptions {
  postgres: PostgresClient
  ceph: CephClient
  steps: number
  seed: number
  log?: (line: string) => void
}

const NODES = 3

/** Actions between two lines of progress. */
const REPORTED_ACTIONS = 1000

/**
 * Publishes, restores, deletes and collects on several nodes over S3: what a kept version needs can be read, and nothing
 * else remains. The short runs are those of test/blobs/nodes.test.ts.
 */
export async function runCollection(options: CollectionOptions): Promise<Report> {
  const { postgres, ceph, steps, seed, log } = options
  const report = new Report(log)
  await using stack = new AsyncDisposableStack()
  const { url: address } = stack.use(await postgres.borrowDatabase())
  const stores: Store[] = []
  while (stores.length < NODES) stores.push(stack.use(await openStore(address)))
  const bucket = parseBucketUrl(ceph.storageUrl())
  let actions = 0
  const nodes = new PublishingNodes(stores, new Random(seed), {
    // Without a cache: each check reads the object.
    openBlobs: (clock) => s3Blobs({ bucket, clock, metrics: new Metrics(), timeouts: PATIENT.blobs }),
    onAction(name) {
      report.count(name)
      if (++actions % REPORTED_ACTIONS === 0) report.event(`${actions} actions`)
    },
  })
  await nodes.run(steps).catch((error: Error) => report.violation(`${error.stack}`))
  return report
}
