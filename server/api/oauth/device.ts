import type { FastifyReply, FastifyRequest } from 'fastify'
import { DEVICE_GRANT_TYPE } from '../../../protocol/api/device.ts'
import { PROGRAM_SCOPES, widestScope } from '../../../protocol/api/programs.ts'
import { NAME_RULE } from '../../accounts/named-keys.ts'
import type { OAuthProblem } from '../../accounts/oauth/oauth-problem.ts'
import { ApiError } from '../../lib/errors.ts'
import type { Services } from '../../services.ts'
import { charge } from '../auth.ts'

type DeviceServices = Pick<Services, 'deviceSignIns' | 'programs' | 'limits'>

/** RFC 8628, section 3.1. */
export async function authorizeDevice(
  { deviceSignIns, programs }: DeviceServices,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const form = readForm(request, ['client_id'])
  if ('error' in form) return refuse(reply, form)
  const { client_id: clientId = '', scope = '', machine } = form.fields
  const client = await programs.findClient(clientId)
  if (!client) return refuse(reply, UNKNOWN_CLIENT)
  if (!client.grantTypes.includes(DEVICE_GRANT_TYPE)) return refuse(reply, UNAUTHORIZED_CLIENT)
  try {
    const codes = await deviceSignIns.start({
      clientId,
      program: client.name,
      machine: machine ?? client.name,
      scope: widestScope(scope) ?? PROGRAM_SCOPES.at(-1)!,
      address: request.caller.address,
    })
    return reply.send(codes)
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'VALIDATION_ERROR')) throw error
    return refuse(reply, { error: 'invalid_request', error_description: `machine ${NAME_RULE}` })
  }
}

/** RFC 8628, section 3.4. A poll in time is not charged: a sign-in takes many. */
export async function exchangeDevice(
  { deviceSignIns, limits }: DeviceServices,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const chargePoll = () => charge(limits, request, reply, 'sign-in')
  const form = readForm(request, ['client_id', 'device_code'])
  if ('error' in form) {
    await chargePoll()
    return refuse(reply, form)
  }
  const { client_id: clientId = '', device_code: deviceCode = '' } = form.fields
  const result = await deviceSignIns.exchange({ clientId, deviceCode }, chargePoll)
  return 'error' in result ? refuse(reply, result) : reply.send(result)
}

/** RFC 6749, section 3.2: each parameter at most once, and `required` ones with a value. */
function readForm(
  { headers, body }: FastifyRequest,
  required: readonly string[],
): { fields: Record<string, string | undefined> } | OAuthProblem {
  const { 'content-type': type = '' } = headers
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type))
    return invalidRequest('the body must be application/x-www-form-urlencoded')
  const parameters = [...new URLSearchParams(String(body))]
  const fields = Object.fromEntries(parameters)
  if (Object.keys(fields).length < parameters.length) return invalidRequest('a parameter is repeated')
  const missing = required.find((name) => !fields[name])
  return missing === undefined ? { fields } : invalidRequest(`${missing} is required`)
}

const UNKNOWN_CLIENT: OAuthProblem = {
  error: 'invalid_client',
  error_description: 'client_id is unknown; register at the registration_endpoint',
}

const UNAUTHORIZED_CLIENT: OAuthProblem = {
  error: 'unauthorized_client',
  error_description: 'the registration does not list the grant type of devices',
}

function invalidRequest(description: string): OAuthProblem {
  return { error: 'invalid_request', error_description: description }
}

/** RFC 6749, section 5.2. */
export function refuse(reply: FastifyReply, problem: OAuthProblem): FastifyReply {
  return reply.code(problem.error === 'invalid_client' ? 401 : 400).send(problem)
}
