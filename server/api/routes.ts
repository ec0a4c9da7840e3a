import { OPERATIONS, type Operation } from '../../protocol/api/operations.schema.ts'
import { type OperationId, PATHS } from '../../protocol/api/paths.ts'
import type { Services } from '../services.ts'
import { accountHandlers, credentialHandlers, signInHandlers } from './account.ts'
import { administrationHandlers, moderationHandlers, reportHandlers } from './administration.ts'
import { directUploadHandlers } from './direct-upload.ts'
import { domainHandlers } from './domains.ts'
import { publishHandlers, uploadHandlers } from './publish.ts'
import { reviewHandlers } from './reviews.ts'
import { Call, type Handlers, type Route } from './route.ts'
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

function toRoute<Id extends OperationId>(id: Id, handlers: Handlers, maxFiles: number): Route {
  const [method, url] = PATHS[id].split(' ') as [string, string]
  const { body, ...operation }: Operation = OPERATIONS[id]
  const [status] = operation.answer
  return {
    ...operation,
    ...(body && { body: typeof body === 'function' ? body(maxFiles) : body }),
    id,
    method,
    url,
    handle: (request, reply) => handlers[id](new Call<Id>(request, reply.code(status), operation.query)),
  }
}
