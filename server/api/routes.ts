import { type OperationId, PATHS } from '../../protocol/api/paths.ts'
import type { Services } from '../services.ts'
import { accountHandlers, credentialHandlers, signInHandlers } from './account.ts'
import { administrationHandlers, moderationHandlers, reportHandlers } from './administration.ts'
import { directUploadHandlers } from './direct-upload.ts'
import { domainHandlers } from './domains.ts'
import { publishHandlers, uploadHandlers } from './publish.ts'
import { reviewHandlers } from './reviews.ts'
import { type Handlers, type Route, toRoute } from './route.ts'
import { siteHandlers } from './sites.ts'
import { previewHandlers, versionHandlers } from './versions.ts'

export function routes(services: Services): Route[] {
  const handlers: Handlers = {
    ...signInHandlers(services),
    ...accountHandlers(services),
    ...credentialHandlers(services),
    ...publishHandlers(services),
    ...directUploadHandlers(services),
    ...uploadHandlers(services),
    ...siteHandlers(services),
    ...versionHandlers(services),
    ...previewHandlers(services),
    ...reviewHandlers(services),
    ...domainHandlers(services),
    ...moderationHandlers(services),
    ...reportHandlers(services),
    ...administrationHandlers(services),
  }
  const { maxFiles } = services.pendingVersions
  return (Object.keys(PATHS) as OperationId[]).map((id) => toRoute(id, handlers, maxFiles))
}
