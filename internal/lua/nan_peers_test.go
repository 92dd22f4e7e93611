//go:build peers

package lua_test

import "testing"

// TestArithmeticEqualsRedis compares functions and operators for arguments without a
// result, and for those at the ends of the range: NaNs have a sign. What differs is
// the sign of a sum or product of two NaNs.
func TestArithmeticEqualsRedis(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	peer, host := server.dial(t, 2), newProxy(t, server)
	const loop = `
		local list = {0/0, -(0/0), 1/0, -1/0, 0, 2, -2, 1.5, -1.5, 0.5, 1e308, -1e308, 1e-310}
		local replies = {}
		for _, a in ipairs(list) do
			for _, b in ipairs(list) do
				local x, y = `
	const rest = `
				replies[#replies + 1] = tostring(a) .. ", " .. tostring(b) .. ": " .. tostring(x) .. " " .. tostring(y)
			end
		end
		return replies`
	for _, expression := range []string{
		"math.abs(a)", "math.acos(a)", "math.asin(a)", "math.atan(a)", "math.ceil(a)", "math.cos(a)", "math.cosh(a)", "math.exp(a)",
		"math.floor(a)", "math.log(a)", "math.log10(a)", "math.sin(a)", "math.sinh(a)", "math.sqrt(a)", "math.tan(a)", "math.tanh(a)",
		"math.deg(a)", "math.rad(a)", "math.frexp(a)", "math.modf(a)", "math.ldexp(a, 3)", "math.fmod(a, b)", "math.mod(a, b)",
		"math.pow(a, b)", "math.atan2(a, b)", "math.max(a, b)", "math.min(a, b)", "a - b", "a / b", "a % b", "a ^ b", "-a", "a == b", "a < b",
	} {
		compare(t, peer, host, 2, loop+expression+rest)
	}
}
