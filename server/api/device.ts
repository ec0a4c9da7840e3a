import type { RouteHandlerMethod } from 'fastify'
import type { DeviceCodeRequest } from '../../protocol/api/device.ts'
import { ApiError } from '../lib/errors.ts'
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
    const { deviceCode } = (request.body ?? {}) as { deviceCode?: unknown }
    try {
      if (request.validationError) throw request.validationError
      return await deviceSignIns.exchange(String(deviceCode))
    } catch (error) {
      const isInTime = error instanceof ApiError && error.code === 'AUTHORIZATION_PENDING'
      if (!isInTime) await charge(limits, request, reply, 'sign-in')
      throw error
    }
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
