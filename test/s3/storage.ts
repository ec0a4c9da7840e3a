import { parseBucketUrl } from '../../packages/s3-client/bucket-url.ts'
import type { Blobs } from '../../server/blobs/blobs.ts'
import { DamageReport } from '../../server/blobs/damage.ts'
import { s3Blobs } from '../../server/blobs/s3/s3.ts'
import { makeLog } from '../../server/lib/log.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { PATIENT } from '../support/patient.ts'
import { type CephClient, sharedCeph } from '../tools/ceph.ts'
import { type S3Proxy, startS3Proxy } from '../tools/s3-proxy.ts'

/** The storage of one test, behind a proxy for faults. */
export interface S3Storage extends AsyncDisposable {
  url: string
  proxy: S3Proxy
  /** Opens it as another process does, with metrics of its own. */
  open(options?: Partial<Parameters<typeof s3Blobs>[0]>): OpenStorage
}

export interface OpenStorage {
  blobs: Blobs
  metrics: Metrics
  /** Parsed log lines. */
  log: Record<string, unknown>[]
}

export async function createStorage(server?: CephClient): Promise<S3Storage> {
  const ceph = server ?? (await sharedCeph())
  const proxy = await startS3Proxy(ceph.endpoint)
  const url = ceph.storageUrl(proxy.endpoint)
  return {
    url,
    proxy,
    open(options = {}) {
      const metrics = new Metrics()
      const log: Record<string, unknown>[] = []
      const write = (line: string) => void log.push(JSON.parse(line))
      const common = { bucket: parseBucketUrl(url), clock: Date.now, metrics, timeouts: PATIENT.blobs }
      const damage = new DamageReport({ log: makeLog({ level: 'debug', text: false, write }), metrics })
      const blobs = s3Blobs({ ...common, damage, ...options })
      return { blobs, metrics, log }
    },
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  }
}
