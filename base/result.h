// Results of codecs and calls. Exceptions are for configuration and construction alone.
#pragma once

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>

namespace openiser {

using ErrorCode = boost::system::error_code;
using ErrorCategory = boost::system::error_category;

template <class T>
using Result = boost::system::result<T>;

// Either success (default) or an error: for calls that return nothing else.
using Status = Result<void>;

}  // namespace openiser
