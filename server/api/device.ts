import type { RouteHandlerMethod } from 'fastify'
import { requireCallerAccount } from './auth.ts'
import type { ApiServices } from './services.ts'

type DeviceServices = Pick<ApiServices, 'deviceSignIns'>

export function describe({ deviceSignIns }: DeviceServices): RouteHandlerMethod {
  return (request) => {
    const { userCode } = request.body as { userCode: string }
    return deviceSignIns.describe(requireCallerAccount(request), userCode, request.caller.address)
  }
}

export function decide({ deviceSignIns }: DeviceServices): RouteHandlerMethod {
  return (request) => {
    const { userCode, allow } = request.body as { userCode: string; allow: boolean }
    return deviceSignIns.decide(requireCallerAccount(request), userCode, allow)
  }
}
