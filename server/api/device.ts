import type { RouteHandlerMethod } from 'fastify'
import type { DeviceCodeRequest } from '../../protocol/api/device.ts'
import { charge, requireCallerAccount } from './auth.ts'
import type { ApiServices } from './services.ts'

type DeviceServices = Pick<ApiServices, 'deviceSignIns'>

export function start({ deviceSignIns }: DeviceServices): RouteHandlerMethod {
  return (request) => deviceSignIns.start(request.body as DeviceCodeRequest)
}

/** A poll in time is not charged: a sign-in takes more of them than the limit permits. */
export function exchange({
  deviceSignIns,
  limits,
}: DeviceServices & Pick<ApiServices, 'limits'>): RouteHandlerMethod {
  return async (request, reply) => {
    const chargePoll = () => charge(limits, request, reply, 'sign-in')
    if (request.validationError) {
      await chargePoll()
      throw request.validationError
    }
    const { deviceCode } = request.body as { deviceCode: string }
    return deviceSignIns.exchange(deviceCode, chargePoll)
  }
}

export function describe({ deviceSignIns }: DeviceServices): RouteHandlerMethod {
  return (request) => {
    const { userCode } = request.body as { userCode: string }
    return deviceSignIns.describe(requireCallerAccount(request), userCode)
  }
}

export function decide({ deviceSignIns }: DeviceServices): RouteHandlerMethod {
  return (request) => {
    const { userCode, allow } = request.body as { userCode: string; allow: boolean }
    return deviceSignIns.decide(requireCallerAccount(request), userCode, allow)
  }
}
