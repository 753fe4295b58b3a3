-- wrk's side of the load: one order a request, each with a key that nobody has sent before, or with the keys of one set
-- over and over. Equal keys come with equal bodies.
-- args: head of the request, body with $ for the number, prefix of the keys, size of the set (0: all fresh), first number
local head, before, after, size, number

function init(args)
  before, after = args[2]:match('^(.*)%$(.*)$')
  head = args[1] .. 'Content-Length: ' .. #before + 8 + #after .. '\r\nIdempotency-Key: ' .. args[3]
  size, number = tonumber(args[4]), tonumber(args[5])
end

function request()
  number = number + 1
  if size > 0 then number = number % size end
  local digits = string.format('%08d', number)
  return head .. digits .. '\r\n\r\n' .. before .. digits .. after
end

function done(summary, latency)
  local failed = {}
  for kind, count in pairs(summary.errors) do
    if count > 0 then failed[#failed + 1] = string.format('"%s":%d', kind, count) end
  end
  io.write(string.format('{"requests":%d,"seconds":%f,"failed":{%s},"p50Ms":%f,"p99Ms":%f}\n', summary.requests,
    summary.duration / 1e6, table.concat(failed, ','), latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
