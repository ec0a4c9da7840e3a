import { type Call, operationTarget } from '../../client/sdk/operation.ts'
import type { AnyCall } from '../../client/sdk/options.ts'
import { readJson, sendRequest } from '../../client/sdk/response.ts'
import type { Answer } from '../../protocol/api/operations.schema.ts'
import type { OperationId } from '../../protocol/api/paths.ts'
import { expire } from '../api/resource.ts'
import { serverNow } from '../api/server-clock.ts'
import { transport } from '../api/slipway.ts'

/** The response of an operation for administrators. */
export async function readAdmin<Id extends OperationId>(id: Id, ...[call]: Call<Id>): Promise<Answer<Id>> {
  return send(id, call)
}

/** Changes something by an operation for administrators. Other pages of the administration are then loaded again. */
export async function changeAdmin<Id extends OperationId>(id: Id, ...[call]: Call<Id>): Promise<Answer<Id>> {
  const changed = await send<Answer<Id>>(id, call)
  expire('admin')
  return changed
}

async function send<T>(id: OperationId, call: AnyCall = {}): Promise<T> {
  const { method, path: url } = operationTarget(id, call)
  const headers: Record<string, string> =
    call.json === undefined ? {} : { 'Content-Type': 'application/json' }
  const request = {
    method,
    url,
    headers,
    ...(call.json !== undefined && { body: JSON.stringify(call.json) }),
  }
  return readJson<T>(await sendRequest(transport, request, serverNow), request)
}
